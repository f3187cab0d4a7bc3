"""Writes class_defaults.json: what the configuration classes of Hugging Face Transformers say where a file is silent.

    pip install transformers==5.23.0 torch
    python3 scenarios/make_class_defaults.py > scenarios/class_defaults.json

One line a model_type, numbers, flags and names of layers only. Keys with a meaning of their own:
  "names"    other names under which a class publishes a field: {"hidden_size": "n_embd"}
  "text"     the model_type of the language model inside, and in "inside" what the outer class sets of it (null: nothing)
  "derived"  what it makes of the width and the heads, for the width and the heads of this line alone
  "by_layer" what layers of one kind say otherwise than the others: {"full_attention": {"head_dim": 512}}
A list with one name a layer is a text: "5*sliding_attention full_attention", in brackets where it goes on like that
for any number of layers; a name behind the brackets is that of the last layer, whatever the period says.
"""
import collections
import dataclasses
import json
import logging
import re
import sys

logging.disable(logging.CRITICAL)
import transformers  # noqa: E402
from transformers.models.auto import modeling_auto  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402

# Fields that say nothing of caches or parameters.
UNUSED = re.compile(
    r"tokens?_|_token$|^token|_act$|act_fn$|activation|dropout|drop_path|_std$|_eps$|epsilon|^rope_|rotary|^output_|^return_|^chunk_size_feed|^use_cache|"
    r"loss|coef|^summary_|initializer|^mask_|^problem|beam|temperature|sinkhorn|softcap|_scal|scale_|multiplier|"
    r"position_embeddings|max_position|max_length|early_stop|rescale|_lr|time_step_[lmfsi]|use_mamba|mambapy|associative|"
    r"^is_decoder|^vision_feature|_kernels$|^spec_|^seed$|^init|interpol|^num_logits|image_grid|norm_topk|kernel_dtype|"
    r"weight_mode|(?<!attn_)alpha|beta_factor|clamp|^return|gradient|mup_|sampl|floor|flow_|spectrogram|vocoder|hifi|t2u|wavenet|"
    r"pitch_|energy_|duration|speaker|spkr|langs|^use_weighted|_path$|^id2label|^label2id|^transformers|architectures|"
    r"^dtype|^torch_dtype|^model_type|^pretraining|^attn_temp|token_ids?$|^eos_|^bos_|^pad_|_index$|^user_|^audio_(bos|eos|start|end)")
LAYER_LISTS = {"layer_types", "mlp_layer_types", "layers_block_type", "indexer_types"}
WRAPPED = ("CAUSAL_LM", "SEQ_TO_SEQ", "IMAGE_TEXT", "MULTIMODAL", "SPEECH_SEQ", "VISION_2_SEQ", "TEXT_TO_WAVEFORM",
           "TEXT_TO_SPECTROGRAM", "AUDIO_TEXT")


def generative_types():
    """The model types that some class generates tokens with, in alphabetical order."""
    types = set()
    for name in dir(modeling_auto):
        if name.startswith("MODEL_FOR_") and name.endswith("MAPPING_NAMES") and any(part in name for part in WRAPPED):
            types |= set(getattr(modeling_auto, name))
    return sorted(types)


def class_default(cls):
    """A config of the class, or nothing where the class cannot make its own default."""
    try:
        return cls()
    except Exception:  # the class refuses its own defaults
        return None


def layers_text(names):
    runs = []
    for name in names:
        if runs and runs[-1][1] == name:
            runs[-1][0] += 1
        else:
            runs.append([1, name])
    return " ".join(name if count == 1 else f"{count}*{name}" for count, name in runs)


def with_layers(cls, name, layers):
    """The list of that name of a config with so many layers, or nothing where the class does not make one."""
    try:
        made = getattr(cls(num_hidden_layers=layers), name, None)
    except Exception:  # of this number of layers, or of any
        return None
    return made if made and len(made) == layers else None


def layer_list(cls, name, default):
    """The text of a list of layers: a period in brackets where other numbers of layers go on with it."""
    for period in range(1, len(default) // 2 + 1):
        others = [default] + [with_layers(cls, name, len(default) + more) for more in (1, 2, 3, period)]
        if not all(others):
            break
        for end in (0, 1):  # the last layer may be forced
            if all(made[i] == default[i % period] for made in others for i in range(len(made) - end)):
                forced = {made[-1] for made in others} if end else set()
                if len(forced) < 2:
                    return " ".join([f"({layers_text(default[:period])})", *forced])
    return layers_text(default)


def is_kept(name, value):
    if UNUSED.search(name) or name.startswith("_"):
        return False
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return True
    if isinstance(value, float):
        return name.endswith(("_bound", "_ratio", "_factor")) or "expan" in name
    if isinstance(value, str):
        return len(value) < 24
    if isinstance(value, list):
        return 0 < len(value) < 100 and all(isinstance(item, int) for item in value)
    return False


def fields_of(cls, config):
    """What a class says where a file is silent."""
    fields, derived = {}, {}
    said = config.to_dict() if config is not None else {}
    for field in dataclasses.fields(cls):
        value = field.default
        if value is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        if field.name == "num_hidden_layers":  # a class may multiply its layers
            value = said.get(field.name, value)
        if is_kept(field.name, value):
            fields[field.name] = value
    for name, value in said.items():  # what a class makes of other fields
        if name in fields or not is_kept(name, value) or name.startswith("tie_"):
            continue
        (fields if is_fixed(cls, name, said) else derived)[name] = value
    for name in LAYER_LISTS:
        value = getattr(config, name, None)
        if isinstance(value, (list, tuple)) and value and all(isinstance(item, str) for item in value):
            fields[name] = layer_list(cls, name, list(value))
    if derived:
        fields["derived"] = derived
    return fields


def is_fixed(cls, name, said):
    """Whether a number that a class makes stays the same for another width and for other heads."""
    heads = next((n for n in ("num_attention_heads", "num_heads", "n_head") if isinstance(said.get(n), int)), None)
    for field in ("hidden_size", heads):
        if not field or not isinstance(said.get(field), int):
            continue
        try:
            if cls(**{field: 2 * said[field]}).to_dict().get(name) != said[name]:
                return False
        except Exception:  # the class refuses that width: then nothing is known of it
            return False
    return True


def by_layer(config):
    """What layers of one kind say otherwise than the others, where all layers of the kind agree."""
    layers = config.to_dict().get("per_layer_config")
    types = getattr(config, "layer_types", None)
    if not layers or not types:
        return None
    said = collections.defaultdict(list)
    for index, kind in enumerate(types):
        said[kind].append(layers.get(index) or layers.get(str(index)) or layers.get(f"{index:02}") or {})
    return {kind: all_said[0] for kind, all_said in said.items()
            if all_said[0] and all(one == all_said[0] for one in all_said)} or None


def inside(config):
    """The language model inside a composite: its config and what the outer class sets of it."""
    text = config.get_text_config(decoder=True)
    if text is config or not getattr(text, "model_type", "") or text.model_type == config.model_type:
        return None, {}
    plain = class_default(type(text))
    if plain is None:
        return text, {}
    said = plain.to_dict()
    changed = {name: value for name, value in text.to_dict().items()
               if said.get(name) != value and (is_kept(name, value) or value is None and is_kept(name, said[name]))}
    for name in LAYER_LISTS:
        made, usual = getattr(text, name, None), getattr(plain, name, None)
        if made and made != usual and all(isinstance(item, str) for item in made):
            changed[name] = layers_text(made)
    return text, changed


def entry(cls, config):
    fields = fields_of(cls, config)
    names = {name: other for name, other in cls.attribute_map.items() if other != name}
    if names:
        fields["names"] = names
    if config is None:
        return fields
    layers = by_layer(config)
    if layers:
        fields["by_layer"] = layers
    text, changed = inside(config)
    if text is not None:
        fields["text"] = text.model_type
        if changed:
            fields["inside"] = changed
    return fields


def main():
    table = {}
    waiting = [(name, CONFIG_MAPPING[name]) for name in generative_types()]
    while waiting:
        name, cls = waiting.pop(0)
        if name in table:
            continue
        config = class_default(cls)
        table[name] = entry(cls, config)
        if config is not None:
            text, _ = inside(config)
            if text is not None:
                waiting.append((text.model_type, type(text)))
    lines = [f"{json.dumps(name)}: {json.dumps(fields, separators=(',', ':'))}" for name, fields in sorted(table.items())]
    print('{"package": "transformers %s",\n%s\n}' % (transformers.__version__, ",\n".join(lines)))


if __name__ == "__main__":
    sys.exit(main())
