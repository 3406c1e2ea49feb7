"""Put a run into docs/benchmarks.md, after its marker, and the plots beside it: python benchmarks/publish.py build/bench."""

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
MARKER = "<!-- what follows is written by benchmarks/publish.py -->\n"


def main(out: Path) -> None:
    page = DOCS / "benchmarks.md"
    kept = page.read_text().split(MARKER)[0]
    pictures = sorted(out.glob("bench_*.png"))
    for picture in pictures:
        shutil.copy(picture, DOCS / "images" / picture.name)
    shown = [f"![{picture.stem.replace('_', ' ')}](images/{picture.name})\n" for picture in pictures]
    page.write_text(kept + MARKER + "\n" + "\n".join([*shown, (out / "tables.md").read_text()]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
