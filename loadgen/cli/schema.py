"""`loadgen schema`: what an experiment file may hold, for editors and checks."""

import json

import typer

EXAMPLES = "Examples:\n\n- `loadgen schema > experiment.schema.json`"


def schema() -> None:
    """Print the JSON schema (draft 2020-12) of experiment files."""
    from loadgen.experiment.file_model import file_schema

    typer.echo(json.dumps(file_schema(), indent=1))
