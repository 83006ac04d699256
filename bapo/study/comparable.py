"""Leaves out of a study's report what was measured on another held-out set than the other runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from bapo.analysis.held_out_sets import named_sets, newest_of_run, set_of
from bapo.analysis.number_format import counted
from bapo.study.observation import Observation


def on_one_set(observed: Mapping[str, Observation], names: Sequence[str]) -> tuple[dict[str, Observation], str | None]:
    """Return the runs and a note; those with these names keep only evaluations on the sets that most of them have.

    A study names its test sets: of each name there is one in its report.
    """
    known = {
        name: newest_of_run((set_of(record), record.step) for record in observed[name].evaluations) for name in names
    }
    sets = named_sets(each for of_run in known.values() for each in of_run.values())
    labels = {name: {each.dataset: sets.labels[each] for each in of_run.values()} for name, of_run in known.items()}
    kept = {
        dataset: Counter(of_run[dataset] for of_run in labels.values() if dataset in of_run).most_common(1)[0][0]
        for dataset in dict.fromkeys(dataset for of_run in labels.values() for dataset in of_run)
    }
    found = dict(observed)
    for name, of_run in known.items():
        evaluations = [
            record
            for record in observed[name].evaluations
            if labels[name][record.dataset] == kept[record.dataset] and set_of(record).equals(of_run[record.dataset])
        ]
        found[name] = observed[name]._replace(evaluations=evaluations)
    parts = [sets.note()]
    for dataset in sets.variants:
        others = sum(of_run.get(dataset, kept[dataset]) != kept[dataset] for of_run in labels.values())
        parts.append(f"This report is on {kept[dataset]}; {counted(others, 'run')} evaluated on another set left out.")
    return found, " ".join(part for part in parts if part) or None
