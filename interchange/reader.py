"""A whole project tree, read into records."""

from collections import defaultdict
from pathlib import Path

from interchange.agents import read_agent
from interchange.cache import Cache
from interchange.discovery import find_suites
from interchange.files import TreeFiles
from interchange.reading import Fault, shown
from interchange.records import FileSink, Notice, SuiteFault, TreeRecord
from interchange.registry import read_registry
from interchange.suites import SuiteReading, read_suite
from models.base import ReasonCode


def read_tree(root: Path, cache: Cache | None = None, keep: FileSink | None = None) -> TreeRecord:
    """Reads what changed since `cache` was last given; `keep` gets every file whose bytes a record relies on."""
    files = TreeFiles(root, cache, keep)
    registry = read_registry(files)
    agents = [read_agent(files, registration) for registration in registry.registrations]
    suites, faults, suite_notices = _suites(files)
    files.forget_unused()
    kept = [registry.file] if registry.file else []
    return TreeRecord(
        registry_valid=registry.is_valid,
        agents=[agent.record for agent in agents],
        suites=[suite.record for suite in suites],
        suite_faults=faults,
        notices=[*registry.notices, *(notice for agent in agents for notice in agent.notices), *suite_notices],
        files=[
            *kept,
            *(file for agent in agents for file in agent.files),
            *(file for suite in suites for file in suite.files),
        ],
    )


def _suites(files: TreeFiles) -> tuple[list[SuiteReading], list[SuiteFault], list[Notice]]:
    by_id: dict[str, list[SuiteReading]] = defaultdict(list)
    faults: list[SuiteFault] = []
    notices: list[Notice] = []
    for directory in find_suites(files.root):
        reading = directory.fault or read_suite(files, directory.path)
        if isinstance(reading, Fault):
            faults.append(SuiteFault(directory.name, reading.code, [directory.path]))
            notices.append(Notice(reading.code, reading.message, suite_id=directory.name))
        else:
            by_id[reading.record.suite_id].append(reading)
    accepted = []
    for suite_id, readings in sorted(by_id.items()):
        if len(readings) == 1:
            accepted.append(readings[0])
            notices.extend(readings[0].notices)
        else:
            fault, notice = _ambiguous(suite_id, readings)
            faults.append(fault)
            notices.append(notice)
    return accepted, faults, notices


def _ambiguous(suite_id: str, readings: list[SuiteReading]) -> tuple[SuiteFault, Notice]:
    directories = [reading.record.directory or "" for reading in readings]
    message = f"{', '.join(map(shown, directories))}: only one directory may hold a suite_id"
    code = ReasonCode.AMBIGUOUS_SUITE
    return SuiteFault(suite_id, code, directories), Notice(code, message, suite_id=suite_id)
