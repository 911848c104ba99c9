from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from server.commands import app

if TYPE_CHECKING:
    from server.choosing import Asked
    from server.opening import Opened
    from server.runs import Look

ACTOR = "local"

run = typer.Typer(no_args_is_help=True, help="Runs of a benchmark. A worker does them: assay serve, or assay worker.")
app.add_typer(run, name="run")

Names = str | None
# The words of models.base.GenerationScope and EvaluationScope, which take seconds to load.
GenerationScope = Literal["ALL", "SELECTED", "EMPTY_AND_FAILED"] | None
EvaluationScope = Literal["ALL", "SELECTED", "MISSING", "STALE"] | None

Benchmark = Annotated[str, typer.Argument(help="The benchmark's name.")]
RunId = Annotated[str, typer.Argument(metavar="RUN_ID", help="The run's id, as `run start` and the graph say it.")]
Tracks = Annotated[Names, typer.Option("--tracks", metavar="NAME,…", help="Only these; otherwise all.")]
Scope = Annotated[
    GenerationScope,
    typer.Option(
        "--scope", help="What to generate: EMPTY_AND_FAILED unless something else is asked for.", case_sensitive=False
    ),
]
Rows = Annotated[Names, typer.Option("--rows", metavar="KEY,…", help="What SELECTED selects.")]
Evaluate = Annotated[
    EvaluationScope,
    typer.Option(
        "--evaluate", help="What to score besides what is generated; alone, nothing is generated.", case_sensitive=False
    ),
]
Metrics = Annotated[
    Names, typer.Option("--metrics", metavar="NAME,…", help="Score on these; otherwise on the benchmark's.")
]
NoEvaluate = Annotated[bool, typer.Option("--no-evaluate", help="Do not score what is generated.")]
MaxCost = Annotated[
    str | None, typer.Option("--max-cost", metavar="X", help="US dollars: once spent, nothing more is started.")
]
Key = Annotated[str | None, typer.Option("--key", help="Idempotency key: the same one starts one run.")]
Watch = Annotated[bool, typer.Option("--watch/--no-watch", help="Follow the run to its end.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@run.command()
def start(
    benchmark: Benchmark,
    tracks: Tracks = None,
    scope: Scope = None,
    rows: Rows = None,
    evaluate: Evaluate = None,
    metrics: Metrics = None,
    no_evaluate: NoEvaluate = False,
    max_cost: MaxCost = None,
    key: Key = None,
    watch: Watch = False,
    as_json: Json = False,
) -> None:
    """Generate, score, or both; prints the run's id. What the scopes select is fixed from then on."""
    from server.opening import opened

    asked = asked_for(benchmark, tracks, scope, rows, evaluate, metrics, no_evaluate, max_cost, key)
    opened(lambda to: begin(to, asked, watch, as_json))


@run.command()
def watch(run_id: RunId, as_json: Json = False) -> None:
    """Follow a run to its end: 0 when it SUCCEEDED, 1 when it FAILED or was CANCELLED."""
    from server.opening import opened

    opened(lambda of: follow(of, run_id, as_json))


@run.command()
def cancel(run_id: RunId) -> None:
    """Start no item of it any more; what is done stays."""
    from server.opening import opened

    look = opened(lambda to: stop(to, run_id))
    print(f"{run_id}: {look.status}")


def asked_for(
    benchmark: str,
    tracks: Names,
    scope: GenerationScope,
    rows: Names,
    evaluate: EvaluationScope,
    metrics: Names,
    no_evaluate: bool,
    max_cost: str | None,
    key: str | None,
) -> "Asked":
    from models import base
    from server.choosing import Asked

    if scope is None and evaluate is None:
        scope = "EMPTY_AND_FAILED" if rows is None else "SELECTED"
    require_sense(scope, rows, evaluate, metrics, no_evaluate)
    return Asked(
        benchmark,
        None if scope is None else base.GenerationScope(scope),
        None if evaluate is None else base.EvaluationScope(evaluate),
        names(tracks),
        names(rows),
        names(metrics),
        auto_evaluate=not no_evaluate,
        max_cost=money(max_cost),
        idempotency_key=key,
    )


def require_sense(
    scope: GenerationScope, rows: Names, evaluate: EvaluationScope, metrics: Names, no_evaluate: bool
) -> None:
    is_selected = "SELECTED" in (scope, evaluate)
    if is_selected and rows is None:
        raise typer.BadParameter("SELECTED needs --rows")
    if rows is not None and not is_selected:
        raise typer.BadParameter("--rows goes with --scope SELECTED or --evaluate SELECTED")
    if metrics is not None and evaluate is None:
        raise typer.BadParameter("--metrics goes with --evaluate")
    if no_evaluate and evaluate is not None:
        raise typer.BadParameter("--no-evaluate and --evaluate contradict each other")


def names(given: Names) -> list[str] | None:
    """Between commas; a name with a comma in it stands in double quotes, as in CSV."""
    import csv

    if given is None:
        return None
    told = [name for line in csv.reader([given], skipinitialspace=True) for name in line if name]
    if not told:
        raise typer.BadParameter("name at least one, or leave the option out")
    return told


def money(given: str | None) -> Any:
    from decimal import Decimal, InvalidOperation

    try:
        amount = None if given is None else Decimal(given)
    except InvalidOperation:
        amount = Decimal("NaN")
    if amount is not None and not amount.is_finite():
        raise typer.BadParameter("--max-cost is a number of US dollars, such as 2.50")
    return amount


async def begin(to: "Opened", asked: "Asked", watch: bool, as_json: bool) -> None:
    from server import choosing

    started = await choosing.start(to.connection, asked, ACTOR)
    run_id = choosing.run_id(started.run_pk)
    if not as_json:
        print(run_id, flush=True)
    if watch:
        await followed(to, started.run_pk, run_id, as_json, created=started.created)
    elif as_json:
        tell({"id": run_id, "created": started.created})


async def follow(of: "Opened", run_id: str, as_json: bool) -> None:
    from server.runs import find

    await followed(of, await find(of.connection, run_id), run_id, as_json)


async def followed(of: "Opened", run_pk: int, run_id: str, as_json: bool, **told: Any) -> None:
    from asyncio import CancelledError

    from server import runs
    from server.showing import shown

    with shown(as_json) as how:
        try:
            look = await runs.follow(of.connection, run_pk, how)
        except CancelledError:
            how.hint(f"The run goes on. To follow it again: assay run watch {run_id}")
            raise
    if as_json:
        tell({"id": run_id, **told, **look.document()})
    runs.require_success(look, run_id)


async def stop(to: "Opened", run_id: str) -> "Look":
    from server import runs

    return await runs.cancel(to.connection, await runs.find(to.connection, run_id), ACTOR)


def tell(document: dict[str, Any]) -> None:
    import orjson

    print(orjson.dumps(document).decode(), flush=True)
