"""The GraphQL types that every list and every node shares."""

from enum import Enum
from typing import Generic, TypeVar

import strawberry

T = TypeVar("T")


@strawberry.interface(description="Anything that has an id of its own and can be read by it.")
class Node:
    id: strawberry.ID


@strawberry.type
class PageInfo:
    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


@strawberry.type
class Edge(Generic[T]):
    cursor: str
    node: T


@strawberry.type
class Connection(Generic[T]):
    edges: list[Edge[T]]
    nodes: list[T]
    page_info: PageInfo
    total_count: int


@strawberry.enum
class SortDirection(Enum):
    ASC = "ASC"
    DESC = "DESC"
