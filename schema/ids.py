from strawberry.utils.str_converters import to_camel_case

from engine.encode import read_global_id
from engine.sources import definition_of
from resolvers.errors import NotFound

# Longer numbers do not fit into 64 bits, and nobody counts that far.
LONGEST_KEY = 18


def key_of(type_: type, id_: str, path: tuple[str, ...]) -> int:
    """The key in the global id of a row of that type; an id that nobody gave out fails the request."""
    type_name, key = read_global_id(id_, ("input", *map(to_camel_case, path)))
    name = definition_of(type_).name
    if type_name != name or not key.isdecimal() or len(key) > LONGEST_KEY:
        raise NotFound(f"This is not the id of anything of type {name}.", path)
    return int(key)
