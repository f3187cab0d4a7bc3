"""Planner and simulator of KV-cache layouts of hybrid Mamba/attention models."""

from ._native import version as __version__
from ._answers import (Bound, Comparison, Fleet, ImportedModel, Simulation, bound, compare, fleet, import_config,
                       simulate)
from ._ask import AssumptionWarning
from ._errors import HybridkvError, InputError, ProgramError, ResourceError
from ._native import keywords, model_names
from ._plan import ByteOwners, Explanation, Plan, Plans, explain, plan, whose
from ._recommend import Checkpoints, Recommendation, recommend
from ._record import Record, Records
from ._start import Audit, Boot, Diagnosis, Trace, audit, boot, doctor, models, trace
from ._sweep import Sweep, sweep
from ._transfer import Transfer, TransferLayouts, transfer
from ._verify import ForwardVerification, Verification, verify

__all__ = ["AssumptionWarning", "Audit", "Boot", "Bound", "ByteOwners", "Checkpoints", "Comparison", "Diagnosis",
           "Explanation", "Fleet", "ForwardVerification", "HybridkvError", "ImportedModel", "InputError", "Plan",
           "Plans", "ProgramError", "Recommendation", "Record", "Records", "ResourceError", "Simulation", "Sweep",
           "Trace", "Transfer", "TransferLayouts", "Verification", "audit", "boot", "bound", "compare", "doctor",
           "explain", "fleet", "import_config", "keywords", "model_names", "models", "plan", "recommend",
           "simulate", "sweep", "trace", "transfer", "verify", "whose"]
