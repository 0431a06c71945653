"""Build a stage of a complete edition again, and compare it with the files of the edition."""

from storage.comparison import is_same_file
from storage.files import read_stage_files
from tasks.edition.edition import Edition
from tasks.edition.recipes import find_recipe


def refresh_stage(edition: Edition, name: str) -> tuple[int, list[str]]:
    """Return how many files a stage has, and the paths of those that differ from what is stored.

    The stage is built from the stored stages before it. No model is asked.

    Raises:
        InputError: the rows of a piece cannot be built.
    """
    recipe, stored = find_recipe(edition, name), edition.read_files()
    different = []
    for piece in edition.pieces:
        paths = {stage: edition.path_of(stage.name, piece) for stage in recipe.inputs}
        inputs = {
            stage.name: read_stage_files(edition.root, [stored[path]], stage)
            for stage, path in paths.items()
            if path in stored
        }
        path = edition.path_of(name, piece)
        rows = recipe.build(edition, piece, inputs)
        if not is_same_file(rows, recipe.stage, stored.get(path)):
            different.append(path)
    return len(edition.pieces), different
