"""Which formats are understood."""

from fastapi import APIRouter

from api.deps import PrincipalDep
from api.problems import documented
from api.uploads.schemas import DatasetFormat, DatasetFormatList
from core.errors import NotSignedIn
from data.formats import FORMATS
from data.formats.base import Format
from data.preview import example_mapping, example_rows

router = APIRouter(prefix="/reference", tags=["Platform"])


@router.get("/formats", responses=documented(NotSignedIn))
def list_formats(_: PrincipalDep) -> DatasetFormatList:
    """The formats that files may have, each with an example and what becomes of it."""
    return DatasetFormatList.of([_shown(one) for one in FORMATS.values()])


def _shown(one: Format) -> DatasetFormat:
    told = {name: getattr(one, name) for name in ("id", "title", "about", "source")}
    shown = {"kinds": list(one.kinds), "example": list(one.example), "mapping": example_mapping(one.id)}
    return DatasetFormat.model_validate({**told, **shown, "becomes": example_rows()[one.id]})
