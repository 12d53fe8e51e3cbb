"""The files for clusters: their form is right, and what they run exists and resolves."""

import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from collegium.cli import main

ROOT = Path(__file__).resolve().parents[2]
SLURM = ROOT / "deploy" / "slurm.sh"
RAYJOB = ROOT / "deploy" / "rayjob.yaml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

SBATCH = {
    "job-name": r"[\w-]+",
    "nodes": r"\d+(-\d+)?",
    "ntasks-per-node": r"\d+",
    "gpus-per-node": r"\d+",
    "exclusive": "",
    "mem": r"0|\d+[KMGT]",
    "time": r"(\d+-)?\d+:\d\d:\d\d",
    "requeue": "",
    "open-mode": "append|truncate",
    "output": r"[\w%.-]+",
}
"""The options of sbatch that are used, with the form of their values."""

# Fields of KubeRay's API ray.io/v1 and of Kubernetes' pods, as far as they are used: a mapping
# names the fields, [x] a list of x, {...: x} any names.
CONTAINER = {
    "name": str,
    "image": str,
    "resources": {"limits": {...: str}, "requests": {...: str}},
    "env": [{"name": str, "value": str, "valueFrom": {"secretKeyRef": {"name": str, "key": str}}}],
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
}
CLAIM = {"claimName": str, "readOnly": bool}
POD = {
    "metadata": dict,
    "spec": {
        "containers": [CONTAINER],
        "volumes": [{"name": str, "persistentVolumeClaim": CLAIM}],
    },
}
GROUP = {"rayStartParams": {...: str}, "template": POD}
RAY_JOB = {
    "apiVersion": str,
    "kind": str,
    "metadata": {"name": str},
    "spec": {
        "submissionMode": str,
        "entrypoint": str,
        "backoffLimit": int,
        "shutdownAfterJobFinishes": bool,
        "ttlSecondsAfterFinished": int,
        "rayClusterSpec": {
            "rayVersion": str,
            "headGroupSpec": GROUP,
            "workerGroupSpecs": [
                GROUP | {"groupName": str, "replicas": int, "minReplicas": int, "maxReplicas": int}
            ],
        },
    },
}


def misfits(value, form, at=""):
    """Yield where `value` is not of `form`."""
    if isinstance(form, type):
        if type(value) is not form:
            yield f"{at}: {value!r} is no {form.__name__}"
    elif isinstance(form, list):
        if not isinstance(value, list):
            yield f"{at}: no list"
            return
        for number, each in enumerate(value):
            yield from misfits(each, form[0], f"{at}[{number}]")
    elif not isinstance(value, dict):
        yield f"{at}: no mapping"
    else:
        for key, each in value.items():
            if key not in form and ... not in form:
                yield f"{at}.{key}: no such field"
            else:
                yield from misfits(each, form.get(key, form.get(...)), f"{at}.{key}")


def dry_run(command, capsys):
    """Run a pipeline's command line with --dry-run."""
    python, shell, *arguments = command
    assert python == "python"
    assert (ROOT / shell).is_file()
    assert main(["run", Path(shell).stem, *arguments, "--dry-run"]) == 0, capsys.readouterr().err


@pytest.fixture
def job():
    return yaml.safe_load(RAYJOB.read_text(encoding="utf-8"))


def test_the_slurm_script_is_a_script():
    assert os.access(SLURM, os.X_OK)
    done = subprocess.run(["bash", "-n", SLURM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_sbatch_knows_the_options():
    lines = SLURM.read_text(encoding="utf-8").splitlines()
    options = [line.removeprefix("#SBATCH --") for line in lines if line.startswith("#SBATCH")]
    last = max(number for number, line in enumerate(lines) if line.startswith("#SBATCH"))
    assert all(line.startswith("#") for line in lines[: last + 1]), "sbatch stops at a command"
    assert len(options) >= 6
    for option in options:
        name, _, value = option.partition("=")
        assert re.fullmatch(SBATCH[name], value), option


@pytest.fixture
def slurm(tmp_path):
    """Run the script with Slurm's programs replaced; gives what it would start."""
    for name, body in {"scontrol": "printf 'n17\\nn18\\n'", "srun": 'printf "%s\\n" "$@"'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    given = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SLURM_SUBMIT_DIR": str(ROOT),
        "SLURM_JOB_NODELIST": "n[17-18]",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_GPUS_ON_NODE": "4",
        "DATABASE_URL": "postgresql://host/collegium",
    }

    def run(*arguments, without=()):
        env = {name: value for name, value in given.items() if name not in without}
        return subprocess.run(
            ["bash", SLURM, *arguments], env=env, capture_output=True, text=True, check=False
        )

    return run


EXAMPLE = shlex.split(re.search(r"sbatch deploy/slurm\.sh (.*)", SLURM.read_text("utf-8"))[1])


def test_the_slurm_script_starts_ray_and_its_example(slurm, capsys, monkeypatch):
    done = slurm(*EXAMPLE, "-s", "seed=7")
    assert done.returncode == 0, done.stderr
    started = done.stdout.splitlines()
    ray = started.index("ray")
    assert all(option.startswith("--") for option in started[:ray])
    command = started.index("--")
    assert started[ray:command] == [
        *("ray", "symmetric-run", "--address", "n17:6379"),
        *("--min-nodes", "2", "--num-gpus", "4"),
    ]
    assert "execution.engines_side_by_side=8" in started
    assert "seed=7" in started
    monkeypatch.chdir(ROOT)
    dry_run(started[command + 1 :], capsys)


@pytest.mark.parametrize(
    ("arguments", "without", "told"),
    [([], (), "usage:"), (EXAMPLE, ("DATABASE_URL",), "PostgreSQL"),
     (EXAMPLE, ("SLURM_SUBMIT_DIR",), "sbatch")],
)  # fmt: skip
def test_the_slurm_script_says_what_is_missing(arguments, without, told, slurm):
    done = slurm(*arguments, without=without)
    assert done.returncode != 0
    assert told in done.stderr


def test_the_rayjob_has_the_fields_of_its_api(job):
    assert not list(misfits(job, RAY_JOB))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert job["spec"]["submissionMode"] in {"K8sJobMode", "HTTPMode", "InteractiveMode"}
    assert re.fullmatch("[a-z]([a-z0-9-]{0,61}[a-z0-9])?", job["metadata"]["name"])


def test_a_field_or_type_of_no_api_is_found(job):
    job["spec"]["entryPoint"] = job["spec"].pop("entrypoint")
    job["spec"]["rayClusterSpec"]["headGroupSpec"]["rayStartParams"]["num-gpus"] = 0
    assert list(misfits(job, RAY_JOB)) == [
        ".spec.rayClusterSpec.headGroupSpec.rayStartParams.num-gpus: 0 is no str",
        ".spec.entryPoint: no such field",
    ]


def groups(job):
    cluster = job["spec"]["rayClusterSpec"]
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def test_each_pod_reaches_database_runs_and_games(job):
    for group in groups(job):
        pod = group["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        (container,) = pod["containers"]
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
        paths = {mount["mountPath"] for mount in container["volumeMounts"]}
        env = {each["name"]: each for each in container["env"]}
        assert "secretKeyRef" in env["DATABASE_URL"]["valueFrom"]
        assert env["ALFWORLD_DATA"]["value"] in paths
        assert "/runs" in paths
        assert container["resources"]["limits"] == container["resources"]["requests"]


def test_engines_fit_the_gpus(job):
    (workers,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    container = workers["template"]["spec"]["containers"][0]
    gpus = workers["replicas"] * int(container["resources"]["limits"]["nvidia.com/gpu"])
    wanted = re.findall(r"engines_side_by_side=(\d+)", job["spec"]["entrypoint"])
    assert wanted == [str(gpus)] * 2


def test_what_the_rayjob_runs_resolves(job, capsys, monkeypatch):
    enter, *commands = job["spec"]["entrypoint"].split(" && ")
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    assert f"WORKDIR {enter.removeprefix('cd ')}\n" in dockerfile
    assert len(commands) == 2
    monkeypatch.chdir(ROOT)
    for command in commands:
        words = shlex.split(command)
        assert words[words.index("--run") + 1].startswith("/runs/")
        dry_run(words, capsys)


def test_versions_agree(job):
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    ray = job["spec"]["rayClusterSpec"]["rayVersion"]
    assert f"rayproject/ray:{ray}-" in dockerfile
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert f"\nray=={ray}\n" in constraints
    images = {group["template"]["spec"]["containers"][0]["image"] for group in groups(job)}
    assert images == {f"collegium:{PROJECT['version']}"}


def test_the_image_has_extras_that_exist():
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    extras = re.search(r"'\.\[([\w,-]+)\]'", dockerfile)[1].split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])
