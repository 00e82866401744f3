#!/bin/sh
# A DDSketch of positive values with weights below 1 has a median of -0.99.
#
# One would guess: a weight is how much a value counts: 0.5 for 10 and 0.2 for 20 have a median of 10, as any positive weight is taken.
# So it is: the rank of a quantile is taken of the count minus one, 0.7 - 1 here, and below rank 0 it looks among the negative values,
# of which there are none: -0.99. Count, sum and average are right, and quantile 0 is. Weights that add up to more than 1 have quantiles
# too low instead: of ten values from 1 to 10 with a weight of 0.2 each the median is 3. Scale weights so that the smallest is 1 or more.
#
# Uses ddsketch 3.0.1 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install ddsketch==3.0.1 || exit 2
"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

from ddsketch import DDSketch

print("ddsketch", version("ddsketch"))


def medians(weighted):
    """The median with the weights, and with a hundred times the weights."""
    small, large = DDSketch(0.01), DDSketch(0.01)
    for value, weight in weighted:
        small.add(value, weight=weight)
        large.add(value, weight=weight * 100)
    found = round(small.get_quantile_value(0.5), 2), round(large.get_quantile_value(0.5), 2)
    print(f"{weighted}: count {small.count:.1f}, average {small.avg:.1f}, median {found[0]}; weights times 100: median {found[1]}")
    return found


seen = medians([(10, 0.5), (20, 0.2)]), medians([(value, 0.2) for value in range(1, 11)])
sys.exit(not (seen[0][0] == -0.99 and 9 < seen[0][1] < 11 and seen[1][0] < 4 and 4.5 < seen[1][1] < 6.5))
END
