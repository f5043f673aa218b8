# SPDX-License-Identifier: MIT
"""schema/scenario.json with the names that the build knows, and its errors in words."""

import json
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from overlock_tools.core.model import defs
from overlock_tools.core.model.defs import Tunable
from overlock_tools.core.model.workloads import Parameter
from overlock_tools.sim import lists
from overlock_tools.sim.toml import Path_

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

FIRST_HOST, FIRST_WORKLOAD = "fair", "sections"  # where a scenario names none
MOST_NAMED = 12  # of what is expected


def _filled() -> dict[str, Any]:
    text = resources.files("overlock_tools.core.schema").joinpath("scenario.json").read_text()
    schema: dict[str, Any] = json.loads(text)
    known, parts = lists.load(), schema["$defs"]
    parts["scheduler"]["enum"] = list(known.hosts)
    parts["kind"]["enum"] = list(known.guests)
    parts["workload"]["enum"] = list(known.workloads)
    costs = {name: {"$ref": "#/$defs/cost"} for name in known.costs}
    former = {name: {"$ref": "#/$defs/cost"} for name in lists.FORMER_COSTS}
    parts["costs_of_a_file"] = {**parts["costs"], **_only(costs | former)}
    parts["machine_file"]["properties"]["costs"]["$ref"] = "#/$defs/costs_of_a_file"
    parts["costs"] |= _only(costs)
    parts["settings_of"]["allOf"] = [
        _where(
            *("scheduler", name, FIRST_HOST),
            {"settings": _only({key: {"$ref": "#/$defs/setting"} for key in host.settings})},
        )
        for name, host in known.hosts.items()
    ]
    parts["parameters_of"]["allOf"] = [
        _where(
            *("workload", workload.name, FIRST_WORKLOAD),
            {"parameters": _only({lists.key(p): _parameter(p) for p in workload.parameters})},
        )
        for workload in known.workloads.values()
    ]
    parts["features"] |= _only(
        {
            feature.name: _only({key: {"$ref": "#/$defs/setting"} for key in feature.settings})
            for feature in known.features.values()
        }
    )
    tunables = defs.load().tunables.values()
    parts["tunables"] |= _only({tunable_key(t): _tunable(t) for t in tunables})
    return schema


def tunable_key(tunable: Tunable) -> str:
    return f"{tunable.name}_ns" if tunable.is_time else tunable.name


def _only(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _where(key: str, name: str, first: str, then: dict[str, Any]) -> dict[str, Any]:
    """What follows from a name, or, of the first, from none."""
    given = {} if name == first else {"required": [key]}
    return {"if": {"properties": {key: {"const": name}}, **given}, "then": {"properties": then}}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    if parameter.values:
        return {"enum": list(parameter.values)}
    kind = "integer" if parameter.unit == "count" else "number"
    return {"type": kind, "minimum": parameter.least, "maximum": parameter.most}


def _tunable(tunable: Tunable) -> dict[str, Any]:
    bounds = {"minimum": tunable.least, "maximum": tunable.most}
    if tunable.unit == "ns":
        words = {"pattern": "^inf$", "description": 'a time in ns, or "inf"'}
        return {"type": ["integer", "string"], **bounds, **words}
    if tunable.unit == "power":
        return {"enum": [1 << n for n in range(64) if tunable.allows(1 << n)]}
    return {"type": "integer", **bounds}


@cache
def _validator(part: str) -> "Validator":
    from jsonschema import Draft202012Validator

    schema = _filled()
    if part:
        schema = {"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]}
    return Draft202012Validator(schema)


def errors(values: Any, part: str = "") -> Iterator[tuple[Path_, str]]:
    """Where each is, and what to do; of a scenario, or of a part of it."""
    error: Any  # its types allow for schemas that are no tables, which ours has not
    for error in _validator(part).iter_errors(values):
        at = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            names = error.schema.get("properties", {})
            for name in error.instance:
                if name not in names:
                    yield (*at, name), _unknown(name, list(names))
        else:
            yield at, _words(error)


def _unknown(name: str, names: list[str]) -> str:
    return f"unknown{suggestion(name, names)}"


def suggestion(name: str, names: list[str]) -> str:
    """What to write instead: `; did you mean fair? expected one of ...`."""
    near = [one for one in names if one.startswith(f"{name}_")]  # without its unit
    near = near or get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    if not names:
        return f"{hint}; expected nothing here"
    if near and len(names) > MOST_NAMED:
        return hint
    return f"{hint or ';'} expected one of {', '.join(names)}"


KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a string",
    "array": "a list",
    "object": "a table",
    "boolean": "true or false",
}


def _words(error: Any) -> str:
    value, limit, keyword = error.instance, error.validator_value, error.validator
    shown = json.dumps(value, default=str)
    shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
    if keyword == "enum":
        return f"{shown} is unknown{suggestion(str(value), list(map(str, limit)))}"
    if keyword in ("type", "pattern"):
        return f"{shown}: expected {error.schema.get('description') or _kinds(limit)}"
    if keyword == "oneOf":
        return f"expected {error.schema['description']}"
    if keyword == "minItems" and limit > 1:
        return f"{shown} is too short; expected {limit} values"
    if keyword == "required":
        return f"{next(name for name in limit if name not in value)} is missing; add it"
    return f"{shown} {OTHERWISE[keyword].format(limit)}"


def _kinds(limit: str | list[str]) -> str:
    return " or ".join(KINDS[kind] for kind in ([limit] if isinstance(limit, str) else limit))


OTHERWISE = {
    "minimum": "is too small; the least is {:g}",
    "exclusiveMinimum": "is too small; expected more than {:g}",
    "maximum": "is too large; the most is {:g}",
    "maxItems": "is too long; the most is {:g}",
    "uniqueItems": "repeats a value; remove it",
    "minItems": "is empty; give a value",
    "minLength": "is empty; give a value",
}
