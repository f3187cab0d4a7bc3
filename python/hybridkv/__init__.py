"""Planner and simulator of KV-cache layouts of hybrid Mamba/attention models."""

from ._native import version as __version__
from ._answers import (Bound, Comparison, ImportedModel, Recommendation, Simulation, Transfer, Verification, bound,
                       compare, import_config, recommend, simulate, transfer, verify)
from ._ask import AssumptionWarning
from ._errors import HybridkvError, InputError, ProgramError, ResourceError
from ._native import keywords, model_names
from ._plan import Explanation, Plan, Plans, explain, plan
from ._record import Record, Records
from ._sweep import Sweep, sweep

__all__ = ["AssumptionWarning", "Bound", "Comparison", "Explanation", "HybridkvError", "ImportedModel", "InputError",
           "Plan", "Plans", "ProgramError", "Recommendation", "Record", "Records", "ResourceError", "Simulation",
           "Sweep", "Transfer", "Verification", "bound", "compare", "explain", "import_config", "keywords",
           "model_names", "plan", "recommend", "simulate", "sweep", "transfer", "verify"]
