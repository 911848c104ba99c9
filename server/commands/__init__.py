"""The command line: each module here adds its commands to `app`, and imports what they need inside of them."""

import importlib
import pkgutil

import typer

app = typer.Typer(
    help="Ground truth for agent benchmarks. Settings are ASSAY_… variables: docs/configuration.md.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def load() -> typer.Typer:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return app
