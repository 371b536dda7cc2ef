"""What the fuzzer of the API puts into addresses: mostly things that exist, so that its requests come further than a 404."""

import json
import random

import schemathesis

# What the demo has.
KNOWN = {
    "slug": ["demo"],
    "interview_id": [1, 2, 3],
    "coding_id": [1, 2, 3, 64],
    "batch_id": [1, 2],
    "experiment_id": [1],
    "what": ["codebook", "codings", "sentences"],
    "number": [1],
    "session_id": [1, 2],
    "annotator_id": [1, 2],
}
SHARE_KNOWN = 0.8


@schemathesis.serializer("application/x-ndjson")
def write_line(context, value):
    """A body of one line."""
    return json.dumps(value).encode("utf-8", "backslashreplace") + b"\n"


@schemathesis.hook
def filter_case(context, case):
    """Whether to make a request. A wrong line of several is refused in its own result, while the request gets a 200."""
    is_wrong = case.meta is not None and case.meta.generation.mode.is_negative
    return not (is_wrong and case.operation.path.endswith("/bulk/"))


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Put numbers of existing things in most of the places."""
    return path_parameters and {
        name: random.choice(KNOWN[name]) if name in KNOWN and random.random() < SHARE_KNOWN else value
        for name, value in path_parameters.items()
    }
