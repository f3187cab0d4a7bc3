"""One step of recurrent layers in float64: what a state kernel must give, and its inputs. Shapes by axis name."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Recurrence:
    """axes, shape: of the state, the slot first
    make:       (random, requests, shape) -> inputs of one token by name, each (request, …)
    parameters: (random, shape) -> arrays that all requests share
    step:       (state (request, …), inputs, parameters) -> (state, output (request, …))
    planned:    the kind of a model's layer whose state has this shape, for plans; None: there is none
    """
    axes: tuple
    shape: tuple
    make: object
    parameters: object
    step: object
    planned: object = None


def _mamba2_make(random, requests, shape):
    _, heads, rows, columns = shape
    return {"x": random.uniform(-1, 1, (requests, heads, rows)), "dt": random.uniform(0.1, 1, (requests, heads)),
            "B": random.uniform(-1, 1, (requests, columns)), "C": random.uniform(-1, 1, (requests, columns))}


def _mamba2_parameters(random, shape):
    return {"A": -random.uniform(0.1, 1, shape[1]), "D": random.uniform(-1, 1, shape[1])}


def _mamba2_step(state, inputs, parameters):
    decay = np.exp(inputs["dt"] * parameters["A"])[:, :, None, None]
    added = np.einsum("rh,rhp,rn->rhpn", inputs["dt"], inputs["x"], inputs["B"])
    state = state * decay + added
    return state, np.einsum("rhpn,rn->rhp", state, inputs["C"]) + parameters["D"][:, None] * inputs["x"]


def _gdn_make(random, requests, shape):
    _, heads, values, keys = shape
    made = {name: random.uniform(-1, 1, (requests, heads, keys)) for name in ("q", "k")}
    made = {name: rows / np.linalg.norm(rows, axis=-1, keepdims=True) for name, rows in made.items()}
    return {**made, "v": random.uniform(-1, 1, (requests, heads, values)),
            "g": -random.uniform(0.1, 1, (requests, heads)), "beta": random.uniform(0.2, 0.9, (requests, heads))}


def _gdn_step(state, inputs, parameters):
    state = state * np.exp(inputs["g"])[:, :, None, None]
    wrong = inputs["v"] - np.einsum("rhvk,rhk->rhv", state, inputs["k"])
    state = state + np.einsum("rh,rhv,rhk->rhvk", inputs["beta"], wrong, inputs["k"])
    return state, np.einsum("rhvk,rhk->rhv", state, inputs["q"]) * parameters["scale"]


def _kda_make(random, requests, shape):
    return {**_gdn_make(random, requests, shape), "g": -random.uniform(0.1, 1, (requests, shape[1], shape[3]))}


def _kda_step(state, inputs, parameters):
    decayed = state * np.exp(inputs["g"])[:, :, None, :]
    return _gdn_step(decayed, {**inputs, "g": np.zeros(inputs["beta"].shape)}, parameters)


def _gdn_parameters(random, shape):
    return {"scale": shape[-1] ** -0.5}


def _linear_make(random, requests, shape):
    _, heads, values, keys = shape
    return {"q": random.uniform(-1, 1, (requests, heads, keys)), "k": random.uniform(-1, 1, (requests, heads, keys)),
            "v": random.uniform(-1, 1, (requests, heads, values))}


def _linear_step(state, inputs, parameters):
    state = state * np.exp(-parameters["slope"])[:, None, None] + np.einsum("rhv,rhk->rhvk", inputs["v"], inputs["k"])
    return state, np.einsum("rhvk,rhk->rhv", state, inputs["q"])


def _linear_parameters(random, shape):
    return {"slope": random.uniform(0.1, 1, shape[1])}


def _conv_make(random, requests, shape):
    return {"x": random.uniform(-1, 1, (requests, shape[1]))}


def _conv_parameters(random, shape):
    return {"weight": random.uniform(-1, 1, (shape[1], shape[2] + 1))}


def _conv_step(state, inputs, parameters):
    window = np.concatenate([state, inputs["x"][:, :, None]], axis=-1)
    return window[:, :, 1:], np.einsum("rct,ct->rc", window, parameters["weight"])


_MATRIX, _DELTA = ("slot", "head", "row", "column"), ("slot", "head", "value", "key")
_SHAPE = (10, 4, 16, 32)
#: The families of recurrent layers whose kernels can be checked.
FAMILIES = {
    "mamba2": Recurrence(_MATRIX, _SHAPE, _mamba2_make, _mamba2_parameters, _mamba2_step,
                         {"type": "mamba2", "heads": 4, "head_dim": 16, "state_size": 32, "conv_kernel": 4}),
    "gdn": Recurrence(_DELTA, _SHAPE, _gdn_make, _gdn_parameters, _gdn_step,
                      {"type": "gdn", "key_heads": 4, "value_heads": 4, "key_head_dim": 32, "value_head_dim": 16,
                       "conv_kernel": 4}),
    "kda": Recurrence(_DELTA, _SHAPE, _kda_make, _gdn_parameters, _kda_step),
    "linear": Recurrence(_DELTA, _SHAPE, _linear_make, _linear_parameters, _linear_step),
    "conv": Recurrence(("slot", "channel", "tap"), (10, 64, 3), _conv_make, _conv_parameters, _conv_step,
                       {"type": "mamba2", "heads": 1, "head_dim": 32, "state_size": 16, "conv_kernel": 4}),
}
