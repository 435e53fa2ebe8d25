"""KV mode, caches, threads and batch sizes, from the load log and the command."""

from typing import Any

import pytest

from loadgen.records.differences import NOT_GIVEN
from loadgen.servers.settings import model_of, names_model, read_settings

LOG = """\
0.00.001.603 I cmn  common_param: system_info: n_threads = 8 (n_threads_batch = 16) / 32 | CPU : SSE3 = 1 |
0.00.003.0 I llama_context: n_batch               = 99
0.00.018.615 I common_fit_params: successfully fit params to free device memory
0.00.020.795 I llama_context: n_batch               = 2048
0.00.020.795 I llama_context: n_ubatch              = 512
0.00.020.796 I llama_context: flash_attn            = auto
0.00.020.930 I llama_kv_cache: size =    0.50 MiB (  1024 cells,   1 layers,  2/2 seqs), K (q8_0):    0.25 MiB, V (f16): 1 MiB
0.00.033.372 I resolve_fused_ops: Flash Attention enabled
0.00.038.829 I llama_context: n_batch               = 64
0.00.039.193 I llama_kv_cache: size =    0.50 MiB (  1024 cells,   1 layers,  2/2 seqs), K (f32):    0.25 MiB, V (f32): 1 MiB
0.00.045.373 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 1024, kv_unified = 'false'
0.00.053.339 I srv    load_model: prompt cache is enabled, size limit: 8192 MiB
0.00.053.355 I srv    load_model: context checkpoints enabled, max = 32, min spacing = 8192
"""  # noqa: E501 - as printed


def given(settings: dict[str, Any] | None) -> dict[str, Any]:
    """The settings that somebody told."""
    return {name: value for name, value in (settings or {}).items() if value != NOT_GIVEN}


def test_the_log_tells_what_came_out() -> None:
    """Of the target's context: neither that of the fit before it nor that of a draft behind it."""
    assert read_settings(None, LOG) == {
        "kv_unified": False, "cache_type_k": "q8_0", "cache_type_v": "f16", "flash_attn": "on", "batch": 2048,
        "ubatch": 512, "threads": 8, "threads_batch": 16, "cache_ram_mib": 8192, "ctx_checkpoints": 32,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("srv load_model: prompt cache is enabled, size limit: no limit", {"cache_ram_mib": -1}),
        ("srv load_model: prompt cache is disabled - use `--cache-ram N` to enable it", {"cache_ram_mib": 0}),
        ("srv load_model: context checkpoints disabled", {"ctx_checkpoints": 0}),
        ("llama_context: flash_attn    = disabled", {"flash_attn": "off"}),
        ("llama_context: Flash Attention was auto, set to enabled", {"flash_attn": "on"}),
        ("llama_context: n_batch = many", {}),
        ("", {}),
    ],
)
def test_other_lines_of_logs(line: str, expected: dict[str, Any]) -> None:
    """Caches that are off are 0, unlimited is -1 as in the argument; what can't be read is absent."""
    assert read_settings(None, line) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("-m a", {}),
        (
            "-m a -ctk q8_0 --cache-type-v=q4_0 -fa off",
            {"cache_type_k": "q8_0", "cache_type_v": "q4_0", "flash_attn": "off"},
        ),
        (
            "-m a -cram 0 --swa-checkpoints 8 --cache_reuse 256",
            {"cache_ram_mib": 0, "ctx_checkpoints": 8, "cache_reuse": 256},
        ),
        ("-m a -t 4 -tb 8 -b 512 -ub 128", {"threads": 4, "threads_batch": 8, "batch": 512, "ubatch": 128}),
        ("-m a -kvu --no-kv-unified --swa-full -nocb", {"kv_unified": False, "swa_full": True, "cont_batching": False}),
        ("-m a --no-cache-prompt --cache-prompt", {"cache_prompt": True}),
        ("-m a -fa -b 512 -t many -ub", {"batch": 512}),
        ("-m a --flash-attn --mlock", {"flash_attn": "on"}),
        ("-m a --sleep-idle-seconds 60", {"sleep_idle_s": 60}),
        (
            "-m a -ngl 99 --device=CUDA0,CUDA1 -sm row -ts 3,1 -mg 1",
            {"gpu_layers": "99", "devices": "CUDA0,CUDA1", "split_mode": "row", "tensor_split": "3,1", "main_gpu": "1"},
        ),
    ],
)
def test_the_command_tells_what_was_asked_for(args: str, expected: dict[str, Any]) -> None:
    """Names, aliases, `=` and `_` as llama-server reads them, the last one wins, garbage is absent."""
    assert given(read_settings(["llama-server", *args.split()], None)) == expected


def test_what_a_server_command_does_not_name_is_not_given() -> None:
    """No default is made up; of a process that is no llama-server, nothing is said at all."""
    settings = read_settings(["/usr/bin/llama-server", "-m", "a", "-b", "512"], None)
    assert settings is not None
    assert (settings["batch"], settings["cache_prompt"], settings["cache_ram_mib"]) == (512, NOT_GIVEN, NOT_GIVEN)
    assert read_settings(["docker-proxy", "-proto", "tcp", "-host-port", "8080"], None) == {}
    assert read_settings([], None) == {}
    assert read_settings(None, None) is None


def test_the_log_goes_before_the_command() -> None:
    """A server may do otherwise than it was told; what only the command tells is kept."""
    settings = read_settings(["llama-server", "-m", "a", "-b", "4096", "--cache-reuse", "64"], LOG)
    assert settings is not None
    assert (settings["batch"], settings["cache_reuse"]) == (2048, 64)


def test_the_model_of_a_command() -> None:
    """Behind a wrapper, too; a wrapper's own -m is not it."""
    command = ["taskset", "-m", "3", "llama-server", "-m", "/models/a.gguf"]
    assert (names_model(command), model_of(command)) == (True, "/models/a.gguf")
    assert (names_model(["ssh", "-L", "8080:x:80", "host"]), model_of(["llama-server", "-hf", "r"])) == (False, None)
