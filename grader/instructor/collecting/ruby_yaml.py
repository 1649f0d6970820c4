"""YAML as Ruby writes it, read from an untrusted file."""

from __future__ import annotations

from typing import Any

import yaml

MAX_DEPTH = 64  # the constructor of PyYAML calls itself for each level
KEPT_RESOLVERS = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:null")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader that reads an id such as 0123 as text, and Ruby's own kinds of objects as plain mappings."""

    # Only these scalars have a meaning here. Merge keys are left out: nested ones grow without limit.
    yaml_implicit_resolvers = {  # noqa: RUF012  the name is PyYAML's
        first: [(tag, regex) for tag, regex in resolvers if tag in KEPT_RESOLVERS]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _of_ruby(loader: Any, _: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


_Loader.add_multi_constructor("!ruby/", _of_ruby)


def load(content: bytes) -> Any:
    """Return the plain values of a document; raise a ValueError if it cannot be read."""
    try:
        depth = 0
        for event in yaml.parse(content, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise ValueError(f"more than {MAX_DEPTH} levels")
        return yaml.load(content, Loader=_Loader)
    except (yaml.YAMLError, RecursionError, TypeError) as error:
        raise ValueError(str(error)) from error
