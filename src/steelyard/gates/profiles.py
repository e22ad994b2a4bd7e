"""Profiles: which measures a scenario looks at, and from where on a value is called what; TOML files a user can copy.

    name = "production"
    title = { en = "RAG in production", zh = "…" }     # or one text for both
    note = { en = "where the levels come from", zh = "…" }
    below = "below_minimum"                            # what lies under the first level
    levels = ["minimum", "good", "excellent"]          # from the easiest to the hardest
    recommend = ["recall@5", "mrr"]                    # what `evaluate --profile` weighs

    [measures."recall@5"]                              # "recall@k" is recall at any k, or at none
    better = "higher"
    levels = { minimum = 0.70, good = 0.80 }           # a measure may leave levels out
    advice = { en = "what to try below the top", zh = "…" }

    [measures."latency_ms:p95"]
    given = true                                       # no measure of ours: a column of numbers, or one handed in
    better = "lower"
    levels = { minimum = 500 }

    [relative]                                         # so much better than the baseline, as a share of it
    measure = "ndcg@10"
    least = 0.15

    [judge]                                            # what the judge of answers must reach, all optional
    kappa = 0.4
    sensitivity = 0.7
    specificity = 0.7
    below_people = 0.1                                 # kappa may be so much less than that of two people

The shipped profiles lie beside this module, in standards/.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from steelyard.base.errors import InputError, quoted
from steelyard.base.nearest import nearest
from steelyard.base.settings import read_text
from steelyard.base.short_repr import one_line, plural
from steelyard.gates.standard import ANY_K, Relative, Standard, at_any_k
from steelyard.measures import Measure


@dataclass(frozen=True, repr=False)
class Profile:
    """A scenario: measures, levels, and what to say of them.

    title, note   language -> text; may be empty
    below         what a value under the first level is called
    levels        names, from the easiest to the hardest; empty where the profile only recommends
    recommend     measures that suit the scenario
    standards     key -> Standard, as the file has them
    relative      what is asked against a baseline, or None
    judge         levels of a judge by the names of `steelyard.gates.judges.JudgeLevels`; empty for those of no profile
    """

    name: str
    title: Mapping[str, str]
    note: Mapping[str, str]
    below: str
    levels: tuple[str, ...]
    recommend: tuple[Measure, ...]
    standards: Mapping[str, Standard]
    relative: Relative | None = None
    judge: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        levels = f", levels {', '.join(self.levels)}" if self.levels else ""
        return one_line(f"Profile({self.name!r}: {plural(len(self.standards), 'measure')}{levels})")

    @classmethod
    def read(cls, source: str | Path) -> Profile:
        """A shipped profile by its name, or a TOML file.

        Raises   InputError for a name that there is none of, with the nearest; for a file that is no profile, with the
                 line: not TOML, unknown keys, wrong types, levels out of order, unknown measures.

        >>> Profile.read("production").standards["recall@5"].levels["good"]
        0.8
        """
        from steelyard.gates.profile_files import parse_profile  # needs pydantic, which takes a moment to import

        if isinstance(source, str) and source in profiles():
            text = _shipped()[source].read_text(encoding="utf-8")
            return cls(**parse_profile(text, file=f"{source}.toml", name=source))
        path = Path(source)
        if source != "-" and not os.path.exists(path) and path.suffix != ".toml" and len(path.parts) == 1:
            raise InputError(
                f"no profile is called {str(source)!r}, and there is no such file; {nearest(str(source), profiles())}"
            )
        return cls(**parse_profile(read_text(path), file=str(source), name=path.stem))

    @property
    def measures(self) -> list[str]:
        """Measures to weigh: the recommended measures, else those that have levels at a k of their own.

        >>> Profile.read("faq").measures
        ['mrr', 'hit_rate@3', 'precision@3']
        """
        own = [key for key, standard in self.standards.items() if not standard.handed_in and not key.endswith(ANY_K)]
        return [str(measure) for measure in self.recommend] or own

    def standard_of(self, measure: Measure) -> Standard | None:
        """Standard that a measure is held against, or None.

        Its own key counts before `NAME@k`.  A key speaks of its measure at whatever gain counts as relevant, so
        recall(min_gain=2)@5 is held against recall@5; any other parameter changes the measure, and needs a key that
        has it, such as "ndcg(gain=exp)@10".
        """
        plain = _without_min_gain(measure)
        for spec in dict.fromkeys([measure, plain]):
            for key in (str(spec), at_any_k(spec)):
                if (standard := self.standards.get(key)) is not None and not standard.handed_in:
                    return standard
        return None

    def is_handed_in(self, key: str) -> bool:
        """True if a key names a number that is handed in."""
        return key in self.standards and self.standards[key].handed_in

    def covers(self, measure: Measure) -> bool:
        """True if the profile has levels for a measure, or recommends it (at whatever gain counts as relevant)."""
        return self.standard_of(measure) is not None or _without_min_gain(measure) in self.recommend

    def unmeasured(self, measures: Collection[Measure]) -> dict[str, Standard]:
        """Names that the profile asks for, and none of these measures answers, with what it is held against.

        That is every measure with a k of its own, and of the keys `NAME@k` those that the profile recommends; numbers
        that are handed in are not among them.
        """
        answered = {standard.measure for measure in measures if (standard := self.standard_of(measure)) is not None}
        asked = {
            standard.measure: str(measure)
            for measure in self.recommend
            if (standard := self.standard_of(measure)) is not None
        }
        wanted = [key for key, standard in self.standards.items() if not standard.handed_in and key not in answered]
        return {asked.get(key, key): self.standards[key] for key in wanted if key in asked or not key.endswith(ANY_K)}


def profile_of(profile: object) -> Profile:
    """A profile as it is given: one that was read, or the name or path of one.

    Raises   InputError
    """
    if isinstance(profile, Profile):
        return profile
    if isinstance(profile, str | Path):
        return Profile.read(profile)
    raise InputError(f"a profile is the name of one, a path, or what Profile.read returns, not {quoted(profile)}")


def profiles() -> list[str]:
    """The names of the shipped profiles, in alphabetical order."""
    return sorted(_shipped())


@cache
def _shipped() -> dict[str, Traversable]:
    folder = files("steelyard.gates") / "standards"
    return {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}


def _without_min_gain(measure: Measure) -> Measure:
    return replace(measure, params=tuple(param for param in measure.params if param[0] != "min_gain"))
