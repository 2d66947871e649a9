"""The photos of the demo and what they show: real ones, from the wheels of scikit-image and scikit-learn.

The probabilities are those of the checkpoint itself in float32, so a port that is right reproduces them.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Photo:
    """A photo inside an installed package, the class that the network gives it, and how sure it is."""

    name: str
    package: str
    file: str
    label: str
    probability: float

    @property
    def path(self) -> Path:
        # The folder is enough; importing scikit-learn would take longer than classifying the photo.
        spec = find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise ModuleNotFoundError(f"{self.package} is not installed: `make setup` installs it")
        return Path(spec.submodule_search_locations[0]) / self.file


PHOTOS = (
    Photo("coffee", "skimage", "data/coffee.png", "espresso", 0.95),
    Photo("chelsea", "skimage", "data/chelsea.png", "tiger cat", 0.39),
    Photo("motorcycle", "skimage", "data/motorcycle_left.png", "moped", 0.48),
    Photo("flower", "sklearn", "datasets/images/flower.jpg", "daisy", 0.36),
    Photo("china", "sklearn", "datasets/images/china.jpg", "palace", 0.31),
    Photo("rocket", "skimage", "data/rocket.jpg", "missile", 0.30),
)
