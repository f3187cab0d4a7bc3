"""Groups of layers and the one allocation, where each release of vLLM has them."""

try:
    from vllm.v1.core.kv_cache_planning import get_global_kv_cache_groups as grouped_by
    from vllm.v1.core.kv_cache_planning import get_kv_cache_configs

    GROUPS_FIRST = True
except ImportError:  # up to 0.32 one function does both
    from vllm.v1.core.kv_cache_utils import get_kv_cache_configs
    from vllm.v1.core.kv_cache_utils import get_kv_cache_groups as grouped_by

    GROUPS_FIRST = False


def plan_caches(config, specs, memory):
    """The configuration of the caches of one rank."""
    groups = [grouped_by(config, [specs])] if GROUPS_FIRST else []
    (caches,) = get_kv_cache_configs(config, [specs], [memory], *groups)
    return caches
