"""Does what a server does grow with its work, or faster?

    python -m benchmarks.growth [--quick] [--only history,steps,batches,viewers,workers]

Each curve is one quantity at several sizes, on one server with a separate database: questions about runs over the
length of the history; series and further steps over the length of a run; storing and reading over the responses of a
step; steps over the number of viewers of one live run, and over the number of workers with a trainer each. The exponent
is the slope of the logarithms: 0 stays the same, 1 grows with the size. Kept answers are never asked for twice. Writes
docs/benchmarks/growth.json and growth.md; `--quick` takes smaller sizes and only prints.
"""

from __future__ import annotations

from benchmarks.growth import PARTS, markdown, measure
from benchmarks.growth.curves import exponent
from benchmarks.report import command_line, write_report


def main() -> None:
    """Run the benchmark."""
    options = command_line(
        __doc__,
        quick=(False, "smaller sizes, printed and not written"),
        only=(",".join(PARTS), "parts, separated by commas"),
    )
    found = measure(options.only.split(","), quick=options.quick)
    if options.quick:
        print(markdown(found))
        return
    write_report(
        "growth",
        "How costs grow",
        {
            "curves": found,
            "exponents": {
                part: {name: exponent(curve) for name, curve in curves.items()} for part, curves in found.items()
            },
        },
        markdown(found),
        packages=("fastapi", "sqlalchemy"),
        setting="; one server process",
    )


if __name__ == "__main__":
    main()
