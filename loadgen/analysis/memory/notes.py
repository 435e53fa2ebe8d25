"""What a prediction of memory means, in sentences: what is rolled back or copied, and what --fit leaves out."""

from loadgen.experiment.serving import Serving
from loadgen.footprint.checkpoint_size import checkpoint_bytes
from loadgen.footprint.compute_estimate import compute_bytes, logits_bytes
from loadgen.footprint.prediction import Prediction
from loadgen.footprint.served_models import Models
from loadgen.units import bytes_to_mib

_NAME_LENGTH = 64


def notes(models: Models, serving: Serving, prediction: Prediction) -> list[str]:
    """Sentences, the most important first."""
    found = [
        _no_heads(models, serving),
        _unknown(models),
        _uncounted(serving),
        _recurrent(models, serving),
        _logits(models, serving),
        _checkpoints(models, serving),
        _split(models, serving),
        _fit(prediction),
    ]
    return [sentence for sentence in found if sentence is not None]


def _no_heads(models: Models, serving: Serving) -> str | None:
    if "draft-mtp" not in serving.drafts or models.drafting(serving) is not None:
        return None
    return f"This {models.target.name} model has no heads for multi-token prediction: draft-mtp can't work with it."


def _unknown(models: Models) -> str | None:
    named = (models.target, models.draft)
    unknown = [model.name[:_NAME_LENGTH] for model in named if model is not None and not model.is_known]
    if not unknown:
        return None
    return f"llama.cpp b11549 has no architecture {' and '.join(unknown)}: a guess by the rules of the others."


def _uncounted(serving: Serving) -> str | None:
    if not serving.uncounted:
        return None
    return f"Not counted: the models of {', '.join(serving.uncounted)}."


def _recurrent(models: Models, serving: Serving) -> str | None:
    target = models.target
    if not target.recurrent_layers:
        return None
    state = _mib(target.state_bytes)
    if not serving.drafts:
        can = "rolls back" if target.rolls_back else "can't roll back"
        rows = (
            "(1 + draft tokens) rows a slot with draft-mtp, -eagle3, -dflash or -dspark"
            if target.rolls_back
            else "one row a slot whatever the drafts, and copies of it in host memory (checkpoints) instead"
        )
        return f"{target.name} keeps a recurrent state of {state} a slot and {can}: with speculation it takes {rows}."
    if target.rolls_back and serving.rollback_rows:
        grown = _mib(target.state_bytes * serving.slots * serving.rollback_rows)
        return (
            f"{target.name} rolls back: its recurrent state is kept in {1 + serving.rollback_rows} rows a slot (1 + "
            f"{serving.rollback_rows} draft tokens), {grown} more than without speculation."
        )
    kinds = ", ".join(serving.drafts)
    why = f"llama.cpp keeps none for {kinds}" if target.rolls_back else f"llama.cpp can't roll {target.name} back"
    return (
        f"No rows to roll back to ({why}): for every draft the state of the slot, {state}, is copied to host memory, "
        "and after a rejection the accepted tokens are computed again."
    )


def _logits(models: Models, serving: Serving) -> str | None:
    if not serving.drafts:
        return None
    target = models.target
    grown = compute_bytes(target, serving)[0] - compute_bytes(target, serving.with_drafts(0))[0]
    return (
        f"Drafts of up to {serving.longest_draft} tokens make it {serving.outputs} outputs a batch: logits of "
        f"{_mib(logits_bytes(target, serving))} in the compute buffer, which is about {_mib(grown)} larger than "
        "without speculation, with or without a draft model."
    )


def _checkpoints(models: Models, serving: Serving) -> str | None:
    state = checkpoint_bytes(models, serving)
    if not state or serving.checkpoints <= 0:
        return None
    return (
        f"Context checkpoints come on top, in host memory: up to {serving.checkpoints} a slot (--ctx-checkpoints), "
        f"each up to {_mib(state)}."
    )


def _split(models: Models, serving: Serving) -> str:
    text = "Held from the start is the sum over devices and host"
    if serving.splitting:
        return f"{text}: how {', '.join(serving.splitting)} share it out does not follow from headers."
    embedding = models.target.embedding_bytes
    if embedding is None:
        return f"{text}."
    copied = ", and a copy of it goes to the device as the output layer" if models.target.tied else ""
    return f"{text}. With every layer on a GPU the token embedding, {_mib(embedding)}, stays on the host{copied}."


def _fit(prediction: Prediction) -> str:
    grows = [share.component.replace("_", " ") for share in prediction.shares if share.grows and share.bytes != 0]
    host = f"{' and '.join(grows)} (host memory, filled while serving), " if grows else ""
    return (
        f"--fit leaves out: {host}what other processes take later, and anything once -c and -ngl are given, which it "
        "never changes. It keeps 1 GiB free on each device; llama-fit-params refuses --spec-type, so that it counts no "
        "speculation."
    )


def _mib(count: int) -> str:
    return f"{bytes_to_mib(count):,.2f} MiB"
