import pytest

from core.scheduling.matching import EVERYTHING, Capacity, Requirement

GPU_WORKER = Capacity(gpus=4, gpu_memory_gib=80, gpu_processes=4, cpu_processes=16, labels=frozenset({"fast", "eu"}))
CPU_WORKER = Capacity(cpu_processes=2)


def test_requirement_of_a_spec_reads_resources_and_device() -> None:
    spec = {
        "resources": {"processes": 2, "machines": 3, "gpu_memory_gib": 40, "labels": ["b", "a"]},
        "runtime": {"device": "cuda"},
    }
    need = Requirement.of_spec(spec)
    assert need == Requirement(2, 3, "cuda", 40, frozenset({"a", "b"}))
    assert need.slots == 6


def test_requirement_of_an_old_spec_is_one_process() -> None:
    assert Requirement.of_spec({"ppo": {}}) == Requirement()


def test_stored_requirement_holds_only_what_differs() -> None:
    assert Requirement().stored() == {}
    need = Requirement(processes=2, labels=frozenset({"b", "a"}))
    assert need.stored() == {"processes": 2, "labels": ["a", "b"]}
    assert Requirement.from_stored(need.stored()) == need


@pytest.mark.parametrize(
    ("need", "on_gpu", "on_cpu"),
    [
        (Requirement(), True, True),
        (Requirement(processes=2), True, True),
        (Requirement(processes=4), True, False),
        (Requirement(processes=5), False, False),
        (Requirement(processes=5, device="cpu"), True, False),
        (Requirement(device="cuda"), True, False),
        (Requirement(machines=2), False, False),
        (Requirement(gpu_memory_gib=80), True, False),
        (Requirement(gpu_memory_gib=81), False, False),
        (Requirement(gpu_memory_gib=81, device="cpu"), True, True),
        (Requirement(labels=frozenset({"eu"})), True, False),
        (Requirement(labels=frozenset({"eu", "slow"})), False, False),
    ],
)
def test_capacity_fits_a_requirement(need: Requirement, on_gpu: bool, on_cpu: bool) -> None:
    assert (GPU_WORKER.fits(need), CPU_WORKER.fits(need)) == (on_gpu, on_cpu)
    assert EVERYTHING.fits(Requirement(need.processes, need.machines, need.device, need.gpu_memory_gib))
