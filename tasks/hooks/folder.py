"""Which project a folder belongs to, as a hook tells it by itself: by its name if it was met."""

from tasks.hooks import plain
from tasks.hooks.published import View


def project_of(cwd: str, view: View) -> tuple[str, str]:
    """Return the id and the path of the project of a folder."""
    known = [str(row["project_id"]) for row in view.listed("cwds", "cwd", cwd)]
    if not known:
        from tasks.hooks.roots import identified  # noqa: PLC0415  most folders were met before

        return identified(cwd)
    rows = view.listed("projects", "project_id", known[-1])
    return known[-1], str(rows[-1]["path"]) if rows else cwd


def is_ignored(project: str, path: str, view: View) -> bool:
    """Tell whether a project is to be left alone: the person said so, or a file in it does."""
    rows = view.listed("projects", "project_id", project)
    return any(row["ignored"] for row in rows) or plain.is_there(f"{path}/.everest-ignore")
