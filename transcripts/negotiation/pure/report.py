"""What ``trajectory_report`` prints and the pages show, from `Records`. A share comes with its 95 % interval as [low, high]; null
is not defined. Keys under ``by_coder`` and ``ledger.threads`` are names of coders, threads, moves and features.

::

    {"threads": 40, "coders": ["ana", "ben"],
     "by_coder": {"ana": {
       "decided":     {"front": sentences, "back": n, "tool": n},
       "presence":    {move: {"enacted" | "demonstrated" | "described" | "not_stated": {"front", "back", "tool"},
                              "per_100": {"front", "back", "tool"}}},
       "positions":   {thread: [[move, ...], ...]},
       "transitions": {"pairs": steps, "row": {move: n}, "column": {move: n},
                       "cells": {from: {to: {"observed", "expected", "probability", "residual", "small"}}}},
       "distances":   {thread: {thread: {"distance", "normalised"}}},
       "episodes":    {"warranted" | "unwarranted" | "new_fact" | "probe":
                         {"episodes", "undecided", "revised", "held", "conceded", "sidestepped", "none", "decided",
                          "rate", "ci", "threads", "ci_threads", "explained"},
                       "discrimination": {"difference", "ci", "p_fisher", "threads", "ci_threads"},
                       "pressure": {thread: {"challenges", "turn_of_flip", "flips"}}},
       "ledger":      {"threads": {thread: {"conduct" | "back": {feature: {"entries": [[turn, status], ...],
                                    "first_raised", "last", "flags"}},
                                  "coverage": {"relevant", "raised", "assumed", "irrelevant", "over_raised",
                                               "raised_back", "disclosed"},
                                  "elicit_first": true | false | null}},
                       "total": {the same counts, "committed", "elicited_first",
                                 "coverage" | "over_raising" | "disclosure" | "elicit_first": {"share", "ci"}}},
       "links":       {"moves", "links", "counts": {move: {feature: n}}, "moves_without_link", "links_without_entry"},
       "pairs":       null where no outcome was chosen, or
                      {"outcomes": [code, ...], "change" | "no_change": {"pairs", "both", "a_only", "b_only", "neither",
                       "flip_rate", "ci", "p_mcnemar"}, "missed_changes", "unwanted_changes", "not_read"}}},
     "agreement": {"status": {"coders", "units", "only_first", "only_second", "raw", "alpha",
                              "presence": {"units", "both", "only_first", "only_second", "neither", "kappa"},
                              "pairs": [{"a", "b", and the same}, ...]}},
     "stances": {...}, "warnings": [sentence, ...]}
"""

from __future__ import annotations
