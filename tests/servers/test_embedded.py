"""The embedded server stands in for llama-server: same arguments, same refusals, same routes."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import xllamacpp

from loadgen.gguf.tiny import WORDS
from loadgen.servers.embedded import ArgumentError, parameters
from loadgen.servers.embedded_flags import FLAGS

if TYPE_CHECKING:
    from tests.servers.conftest import Served

KINDS = xllamacpp.common_speculative_type


def _get(url: str) -> Any:
    return httpx.get(url).raise_for_status().json()


def _post(url: str, body: dict[str, Any]) -> Any:
    return httpx.post(url, json=body).raise_for_status().json()


def _run(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "loadgen.servers.embedded", *args], capture_output=True, text=True, check=False
    )


def _field(params: Any, path: str) -> Any:
    for name in path.split("."):
        params = getattr(params, name)
    return params


@pytest.mark.parametrize(
    ("words", "path", "expected"),
    [
        ("-np 8", "n_parallel", 8),
        ("--parallel -1", "n_parallel", -1),
        ("-kvu", "kv_unified", True),
        ("-kvu -no-kvu", "kv_unified", False),
        ("-c 4096", "n_ctx", 4096),
        ("--ctx_size 4096", "n_ctx", 4096),
        ("-b 256", "n_batch", 256),
        ("-ub 128", "n_ubatch", 128),
        ("-t 3", "cpuparams_batch.n_threads", 3),
        ("-t 3 -tb 2", "cpuparams_batch.n_threads", 2),
        ("-t 3", "speculative.draft.cpuparams_batch.n_threads", 3),
        ("-td 2", "speculative.draft.cpuparams.n_threads", 2),
        ("--poll 0", "cpuparams.poll", 0),
        ("-fa off", "flash_attn_type", xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED),
        ("-fa auto", "flash_attn_type", xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_AUTO),
        ("-ctk q8_0", "cache_type_k", xllamacpp.ggml_type.GGML_TYPE_Q8_0),
        ("-ctvd q4_0", "speculative.draft.cache_type_v", xllamacpp.ggml_type.GGML_TYPE_Q4_0),
        ("--host 127.0.0.2", "hostnames", ["127.0.0.2"]),
        ("", "port", 8080),
        ("--port 9", "port", 9),
        ("--api-key a,b", "api_keys", ["a", "b"]),
        ("--metrics", "endpoint_metrics", True),
        ("--no-slots", "endpoint_slots", False),
        ("--props", "endpoint_props", True),
        ("-lv 4", "verbosity", 4),
        ("-v", "verbosity", 2**31 - 1),
        ("--cache-ram 0", "cache_ram_mib", 0),
        ("--ctx-checkpoints 4", "n_ctx_checkpoints", 4),
        ("--no-cache-prompt", "cache_prompt", False),
        ("--swa-full", "swa_full", True),
        ("--seed -1", "sampling.seed", 2**32 - 1),
        ("--top-k 7", "sampling.top_k", 7),
        ("--top-k 7 --temp 0", "sampling.user_sampling_config", 2 | 64),
        ("-a one,two", "model_alias", {"one", "two"}),
        ("--no-jinja", "use_jinja", False),
        ("-ngl all", "n_gpu_layers", -2),
        ("-ngl 0", "n_gpu_layers", 0),
        ("--no-warmup", "warmup", False),
        ("--sse-ping-interval 2", "sse_ping_interval", 2),
        (
            "--spec-type draft-mtp,ngram-map-k4v",
            "speculative.types",
            [KINDS.COMMON_SPECULATIVE_TYPE_DRAFT_MTP, KINDS.COMMON_SPECULATIVE_TYPE_NGRAM_MAP_K4V],
        ),
        ("--spec-type none", "speculative.types", [KINDS.COMMON_SPECULATIVE_TYPE_NONE]),
        ("--spec-default", "speculative.types", [KINDS.COMMON_SPECULATIVE_TYPE_NGRAM_MOD]),
        ("--spec-draft-n-max 7", "speculative.draft.n_max", 7),
        ("--spec-draft-n-min 1", "speculative.draft.n_min", 1),
        ("--spec-draft-p-min 0.5", "speculative.draft.p_min", 0.5),
        ("--spec-draft-sampling probabilistic", "speculative.draft.probabilistic", True),
        ("--spec-synth-len 2.5", "speculative.synth_len", 2.5),
        ("--spec-synth-rates 1,0.5", "speculative.synth_rates", [1.0, 0.5]),
        ("--spec-ngram-simple-size-n 4", "speculative.ngram_simple.size_n", 4),
        ("--spec-ngram-map-k4v-min-hits 2", "speculative.ngram_map_k4v.min_hits", 2),
        ("--spec-ngram-mod-n-match 5", "speculative.ngram_mod.n_match", 5),
    ],
)
def test_an_argument_sets_its_parameter(tiny_model: Path, words: str, path: str, expected: object) -> None:
    """Each llama-server argument has the meaning that it has there."""
    assert _field(parameters(xllamacpp, ["-m", str(tiny_model), *words.split()], {}), path) == expected


def test_names_are_listed_once() -> None:
    """No name and no variable stands for two arguments."""
    names = [name for flag in FLAGS for name in flag.names]
    variables = [flag.variable for flag in FLAGS if flag.variable]
    assert (len(names), len(variables)) == (len(set(names)), len(set(variables)))


def test_every_argument_sets_a_parameter_that_exists(tiny_model: Path) -> None:
    """No line of the table names a field that this build of xllamacpp lacks."""
    samples = {
        **dict.fromkeys(("-m", "-md", "-lcs", "--chat-template-file"), str(tiny_model.with_name("sample"))),
        **dict.fromkeys(("-fa", "-fit"), "on"),
        **dict.fromkeys(("-ctk", "-ctv", "-ctkd", "-ctvd"), "f16"),
        "-lm": "mmap",
        "--reasoning-format": "none",
        "--spec-type": "none",
        "--spec-draft-sampling": "greedy",
    }
    tiny_model.with_name("sample").write_text("text")
    for flag in FLAGS:
        value = samples.get(flag.names[0], "1") if flag.takes_value else ""
        flag.apply(xllamacpp, xllamacpp.CommonParams(), value)


def test_variables_count_where_no_argument_does(tiny_model: Path) -> None:
    """llama-server's environment variables are read; an argument beats its variable."""
    environ = {"LLAMA_ARG_MODEL": str(tiny_model), "LLAMA_ARG_CTX_SIZE": "512", "LLAMA_ARG_ENDPOINT_METRICS": "1"}
    params = parameters(xllamacpp, ["-c", "1024"], environ)
    assert (params.model.path, params.n_ctx, params.endpoint_metrics) == (str(tiny_model), 1024, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--foo", "error: invalid argument: --foo"),
        (
            "--draft-max 3",
            (
                'error while handling argument "--draft-max": '
                "the argument has been removed. use --spec-draft-n-max or --spec-ngram-mod-n-max"
            ),
        ),
        ("--port abc", 'error while handling argument "--port": invalid value: abc'),
        ("-np 0", 'error while handling argument "-np": at least one slot'),
        ("--port", 'error while handling argument "--port": expected value for argument'),
        ("--spec-type mtp", 'error while handling argument "--spec-type": unknown speculative type: mtp'),
        ("-m /none.gguf", "error: failed to open GGUF file '/none.gguf' (No such file or directory)"),
        ("-c 1024", "error: no model: -m FNAME is needed"),
    ],
)
def test_a_bad_argument_is_refused_in_llama_servers_words(words: str, message: str) -> None:
    """Unknown, removed and bad arguments each have their message."""
    with pytest.raises(ArgumentError) as caught:
        parameters(xllamacpp, words.split(), {})
    assert str(caught.value) == message


def test_a_refusal_ends_the_process_with_1() -> None:
    """The message goes to stderr, the exit code is 1."""
    result = _run("--draft-n", "3")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith('error while handling argument "--draft-n": the argument has been removed.')


def test_a_file_that_is_no_model_ends_the_process_with_1(tmp_path: Path) -> None:
    """The server's own reason stands in its log."""
    (tmp_path / "m.gguf").write_bytes(b"no model")
    result = _run("-m", str(tmp_path / "m.gguf"))
    assert result.returncode == 1
    assert "exiting due to model loading error" in result.stdout + result.stderr


@pytest.mark.live
def test_without_np_there_are_four_slots_that_share_the_context(
    tiny_model: Path, serve: "Callable[..., Served]"
) -> None:
    """As in llama-server: 4 slots, a unified cache, and the whole context in each."""
    url = serve("-m", str(tiny_model), "-c", "1024").url
    assert [slot["n_ctx"] for slot in _get(f"{url}/slots")] == [1024] * 4


@pytest.mark.live
def test_slots_say_whether_they_speculate(tiny_model: Path, serve: "Callable[..., Served]") -> None:
    """`/slots[].speculative` tells the variants apart, and a probe request drafts."""
    on = serve("-m", str(tiny_model), "-c", "1024", "-np", "2", "--spec-type", "draft-mtp", "--spec-synth-len", "2.5")
    off = serve("-m", str(tiny_model), "-c", "1024", "-np", "2")
    assert [slot["speculative"] for slot in _get(f"{on.url}/slots")] == [True, True]
    assert [slot["speculative"] for slot in _get(f"{off.url}/slots")] == [False, False]
    body = {"messages": [{"role": "user", "content": "the"}], "max_tokens": 32}
    assert _post(f"{on.url}/v1/chat/completions", body)["timings"]["draft_n"] > 0


@pytest.mark.live
def test_a_word_is_one_token_and_a_turn_costs_ten(tiny_model: Path, serve: "Callable[..., Served]") -> None:
    """Text in `WORDS` has as many tokens as words, and the template adds at most 10 tokens to an exchange."""
    url = serve("-m", str(tiny_model), "-c", "1024").url
    tokens = _post(f"{url}/tokenize", {"content": " ".join(WORDS)})["tokens"]
    assert len(tokens) == len(WORDS) == 300
    user, assistant = {"role": "user", "content": "the of"}, {"role": "assistant", "content": "to in"}
    lengths = []
    for messages in ([user], [user, assistant, user]):
        prompt = _post(f"{url}/apply-template", {"messages": messages})["prompt"]
        lengths.append(len(_post(f"{url}/tokenize", {"content": prompt, "parse_special": True})["tokens"]))
    assert lengths[1] - lengths[0] - 4 == 10


@pytest.mark.live
@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_what_it_says_is_words_that_split_into_the_same_tokens(
    tiny_model: Path, serve: "Callable[..., Served]", temperature: float
) -> None:
    """Answers never end early, hold only words, and come back as many tokens as they were."""
    url = serve("-m", str(tiny_model), "-c", "1024", "--spec-type", "draft-mtp", "--spec-synth-len", "2.5").url
    body = {"messages": [{"role": "user", "content": "the"}], "max_tokens": 200, "temperature": temperature, "top_k": 0}
    answer = _post(f"{url}/v1/chat/completions", body)
    text = answer["choices"][0]["message"]["content"]
    assert answer["usage"]["completion_tokens"] == 200
    assert set(text.split()) <= set(WORDS)
    assert len(_post(f"{url}/tokenize", {"content": text})["tokens"]) == 200


@pytest.mark.live
def test_sigterm_ends_it_at_once(tiny_model: Path, serve: "Callable[..., Served]") -> None:
    """A signal that ends llama-server ends this one."""
    process = serve("-m", str(tiny_model), "-c", "512").process
    process.terminate()
    assert process.wait(timeout=30) == -signal.SIGTERM
