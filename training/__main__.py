"""Train models, measure them, and write their cards: ``python -m training NAME...``.

The recipes of the models are in `training/models.toml`. You can stop a training at any time: the next start
continues after the last complete part.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import torch

from pretexeval.primitives.errors import InputError
from training.card import SEEDS, build_card, measure_models, read_card, write_card
from training.lessons import FILE, read_recipes
from training.loop import Training

MODELS = Path(__file__).parents[1] / "models"


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", help="name of a recipe")
    parser.add_argument("--only", choices=("train", "measure"), help="do only one of the two steps")
    parser.add_argument("--recipes", type=Path, default=FILE, help="file of recipes (default: %(default)s)")
    parser.add_argument("--models", type=Path, default=MODELS, help="where the folders of the models are")
    parser.add_argument("--states", type=Path, default=Path("data/training"), help="folder of saved states")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch (default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    try:
        recipes = read_recipes(options.names, options.recipes)
        for name, recipe in recipes.items():
            folder = options.models / name
            if options.only != "measure":
                training = Training(name, recipe)
                training.train(options.states / f"{name}.pt")
                training.save(folder)
                write_card(folder, build_card(name, training.subject, training.curve), recipe)
            if options.only != "train":
                card, scores = read_card(folder), measure_models(recipe, [folder], SEEDS[recipe.kind])[name]
                write_card(folder, replace(card, scores=scores), recipe)
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
