import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from benchmarks.gpu_suite import plug_ins
from tests.trainer.other_rounding import install_if_asked


@pytest.fixture(autouse=True, scope="package")
def _rounding() -> Iterator[None]:
    """One thread unless OMP_NUM_THREADS asks for more, which small models lose time to; and products as asked for."""
    install_if_asked()
    before = torch.get_num_threads()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="session")
def _plug_ins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The judges of examples/ have their names, also where the package is not installed."""
    if plug_ins.are_installed():
        yield
        return
    folder = str(plug_ins.write_metadata(tmp_path_factory.mktemp("plug-ins")))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])]))
        yield


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoints of a finished run of SFT and reward model, for other runs to start from."""
    from tests.trainer.run.tools import run  # imports torch's training code, which few tests need

    folder = tmp_path_factory.mktemp("first")
    run(folder, ["sft", "reward_model"])
    return folder / "checkpoints"


@pytest.fixture(scope="session")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small Llama as it is published: a SentencePiece vocabulary with a BOS and no PAD."""
    from tests.trainer.tiny_models import save_pretrained_llama

    return save_pretrained_llama(tmp_path_factory.mktemp("pretrained"))
