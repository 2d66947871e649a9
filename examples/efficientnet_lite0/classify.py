"""Names what a photo shows, in this process: compile, load, run.

`python -m examples.efficientnet_lite0.classify PHOTO …` without any service; `make demo` does the same through them.
"""

import argparse
from pathlib import Path

import rlx_runtime
from rlx_compiler import CompileOptions, compile_source

from .convert import convert
from .preprocess import read_image, top


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", nargs="+", type=Path, metavar="PHOTO")
    parser.add_argument("--target", default="llvm")
    parser.add_argument("--top", type=int, default=5, help="how many classes to name")
    arguments = parser.parse_args()
    source = convert()
    output = source.parent / f"bundle-{arguments.target}"
    bundle = compile_source(source, CompileOptions(target=arguments.target), output)
    model = rlx_runtime.load(bundle.directory)
    for photo in arguments.photos:
        answer = model.run({"image": read_image(photo)})
        print(photo)
        for label, probability in top(answer["probabilities"], arguments.top):
            print(f"  {probability:6.1%}  {label}")


if __name__ == "__main__":
    main()
