"""The files of deploy/ say what they must: nobody is root, nothing is written, every probe and limit is there."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml
from django.urls import resolve, reverse

from config import settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
VERSION = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
OURS = {"web-1", "web-2", "worker-1", "worker-2", "prepare"}
SETTINGS = set(re.findall(r"^([A-Z_]+) ", settings.__doc__, re.MULTILINE))
OF_BOTO = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
NOT_IN_WHEEL = shutil.ignore_patterns("__pycache__", "tests")
SPECIAL = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "TMPDIR", "MALLOC_ARENA_MAX"}


def text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def program(name: str) -> str:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin") or ""


# The image


@pytest.fixture(scope="module")
def steps() -> list[str]:
    """The instructions of the Containerfile, each on one line."""
    lines = "\n".join(line for line in text("Containerfile").splitlines() if not line.startswith("#"))
    return [line for line in lines.replace("\\\n", " ").splitlines() if line.strip()]


def test_both_stages_begin_with_one_base_of_a_fixed_digest(steps):
    bases = [step.split()[1] for step in steps if step.startswith("FROM")]
    assert bases == ["${BASE}", "${BASE}"]  # so that an operator can name another
    (base,) = (step.removeprefix("ARG BASE=") for step in steps if step.startswith("ARG BASE="))
    assert re.fullmatch(r"docker\.io/library/python:3\.11\.\d+-slim-[a-z]+@sha256:[0-9a-f]{64}", base)


def test_the_image_is_not_roots_and_its_last_user_is_a_number(steps):
    users = [step.split()[1] for step in steps if step.startswith("USER")]
    assert users == ["10001:10001"]
    assert steps.index("USER 10001:10001") > max(i for i, step in enumerate(steps) if step.startswith("RUN"))


def test_the_build_asks_nobody_but_the_package_index_and_checks_every_hash(steps):
    runs = " ".join(step for step in steps if step.startswith(("RUN", "ADD")))
    assert "--require-hashes" in runs and "--requirement requirements-machines.lock" in runs
    assert not re.search(r"apt|curl|wget|git |http|^ADD|sudo", runs)


def test_the_image_is_made_of_the_wheel_and_the_lock_and_nothing_else_is_sent(steps):
    copied = {
        name for step in steps if step.startswith("COPY") and "--from" not in step for name in step.split()[1:-1]
    }
    wheel = f"dist/idealist-{VERSION}-py3-none-any.whl"
    assert copied == {"requirements-machines.lock", wheel} and (ROOT / "requirements-machines.lock").exists()
    patterns = [line for line in (ROOT / ".containerignore").read_text().splitlines() if not line.startswith("#")]
    assert patterns == ["*", "!requirements-machines.lock", "!dist/*.whl"]


@pytest.mark.slow
def test_the_user_of_the_image_can_read_what_the_build_makes(steps, tmp_path):
    """Idealist closes what it writes, and root, who builds, is another user."""
    made = tmp_path / "idealist"
    made.mkdir()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for name in project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]:
        copy = shutil.copy if (ROOT / name).is_file() else partial(shutil.copytree, ignore=NOT_IN_WHEEL)
        copy(ROOT / name, made / name)
    (run,) = (step.removeprefix("RUN ") for step in steps if "collectstatic" in step)
    places = {"/tmp/": f"{tmp_path}/", "/venv/bin/python": shlex.quote(sys.executable), "/venv": str(made)}
    for old, new in places.items():
        run = run.replace(old, new)
    subprocess.run(["sh", "-euc", run], cwd=made, check=True, capture_output=True)
    closed = [path for path in made.rglob("*") if path.stat().st_mode & 0o444 != 0o444]
    assert (made / "static-files" / "staticfiles.json").exists() and not closed


def test_the_image_names_only_settings_that_exist(steps):
    (environment,) = (step for step in steps if step.startswith("ENV"))
    assert set(re.findall(r"([A-Z_]+)=", environment)) <= SETTINGS | SPECIAL
    assert "SECRET" not in environment and "PASSWORD" not in environment


# Compose


@pytest.fixture(scope="module")
def services() -> dict[str, dict]:
    return yaml.safe_load(text("compose.yaml"))["services"]


def test_no_image_floats_and_ours_has_the_version_of_the_project(services):
    for name, service in services.items():
        assert re.search(r":v?[0-9]", service["image"]), name
        assert name not in OURS or service["image"] == f"idealist:{VERSION}"


def test_ours_and_the_proxy_write_nothing_have_no_rights_and_a_limit_of_memory(services):
    for name in (*OURS, "proxy"):
        service = services[name]
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"] and service["mem_limit"], name
        assert not service.get("privileged") and "user" not in service, name
    assert all("ports" not in service for name, service in services.items() if name != "proxy")


def test_compose_names_only_settings_that_exist_and_no_secret(services):
    for name in OURS:
        assert set(services[name]["environment"]) <= SETTINGS | OF_BOTO, name
    for secret in ("SECRET_KEY", "POSTGRES_PASSWORD"):
        assert set(re.findall(rf"\$\{{{secret}([^}}]*)\}}", text("compose.yaml"))) == {":?"}
    asked = set(re.findall(r"\$\{([A-Z_]+):\?", text("compose.yaml")))
    told = dict(re.findall(r"^([A-Z_]+)=(.*)$", text("settings.env.example"), re.MULTILINE))
    assert asked <= told.keys() and not told["SECRET_KEY"] + told["POSTGRES_PASSWORD"]


def test_servers_and_workers_start_after_the_tables_are_made(services):
    for name in OURS - {"prepare"}:
        assert services[name]["depends_on"]["prepare"]["condition"] == "service_completed_successfully"


# Kubernetes


def pods() -> Iterator[tuple[str, dict]]:
    for item in yaml.safe_load(text("kubernetes.yaml"))["items"]:
        if item["kind"] in ("Deployment", "Job"):
            yield item["metadata"]["name"], item["spec"]["template"]["spec"]


def test_every_pod_is_closed():
    assert [name for name, _ in pods()] == [
        "idealist-prepare",
        "idealist-web",
        "idealist-worker",
    ]
    for name, pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"], name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert pod["automountServiceAccountToken"] is False, name
        for container in pod["containers"]:
            closed = container["securityContext"]
            assert closed["readOnlyRootFilesystem"] and closed["allowPrivilegeEscalation"] is False, name
            assert closed["capabilities"] == {"drop": ["ALL"]}, name
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
            assert container["resources"]["limits"]["memory"], name
            assert re.search(r":v?[0-9][^:]*$", container["image"]), name
            mounted = {mount["name"] for mount in container["volumeMounts"]}
            assert mounted == {volume["name"] for volume in pod["volumes"]}, name


def test_kubernetes_names_only_settings_that_exist_and_no_secret():
    items = yaml.safe_load(text("kubernetes.yaml"))["items"]
    assert not [item for item in items if item["kind"] == "Secret"]
    (told,) = (item["data"] for item in items if item["kind"] == "ConfigMap")
    assert told.keys() <= SETTINGS and all(isinstance(value, str) for value in told.values())
    keys = set(re.findall(r"--from-literal ([A-Z_]+)", text("README.md")))
    assert keys == {"SECRET_KEY", "DATABASE_URL"} | OF_BOTO


# The proxy and systemd


def test_nginx_takes_its_settings(tmp_path):
    if not (program("nginx") and program("openssl")):
        pytest.skip("there is no nginx or no openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=ratings.example.org"]
    subprocess.run([*make, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    written = text("nginx.conf").replace("/tmp/", f"{tmp_path}/").replace("/etc/nginx/tls", str(tmp_path))
    (tmp_path / "nginx.conf").write_text(re.sub(r"web-[12]:", "127.0.0.1:", written))
    command = [program("nginx"), "-t", "-e", "stderr", "-c", tmp_path / "nginx.conf"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_proxy_knows_all_servers_keeps_no_addresses_and_says_who_asks():
    servers = set(re.findall(r"server (web-\d):8000 resolve ", text("nginx.conf")))
    assert servers == {name for name in OURS if name.startswith("web")}
    for line in (
        "access_log off;",
        "proxy_set_header X-Forwarded-For $remote_addr;",
        "proxy_set_header X-Forwarded-Proto $scheme;",
        "proxy_set_header Host $http_host;",
        "proxy_request_buffering off;",
        "limit_conn addresses 50;",
        "client_max_body_size 3m;",
        "return 301 https://$host$tls_port$request_uri;",
    ):
        assert line in text("nginx.conf")
    (place,) = re.findall(r"location ~ (\S+) \{[^}]*client_max_body_size 100m;", text("nginx.conf"))
    for address in ("/archives/send/", "/collections/hills/import/send/", "/collections/hills/pictures/send/"):
        assert re.search(place, address) and hasattr(resolve(address).func, "takes_files")


def test_the_proxy_logs_no_address_with_a_key():
    (place,) = re.findall(r"location ~ (\S+) \{\s+error_log /dev/null emerg;", text("nginx.conf"))
    for name, *arguments in (
        ("join", "key"),
        ("sign_in_link", "key"),
        ("new_password", "a", "b"),
        ("provider_callback",),
    ):
        assert re.search(place, reverse(name, args=arguments)), name
    assert not re.search(place, reverse("sign_in"))


def test_every_deployment_makes_backups_outside_of_what_may_be_lost(services):
    for name in OURS:
        assert services[name]["environment"]["IDEALIST_BACKUPS"] == "${IDEALIST_BACKUPS:?}"
    (told,) = (
        each["data"] for each in yaml.safe_load(text("kubernetes.yaml"))["items"] if each["kind"] == "ConfigMap"
    )
    assert told["IDEALIST_BACKUPS"].startswith("s3://")
    assert "IDEALIST_BACKUPS=s3://" in text("settings.env.example")
    (folder,) = re.findall(r"IDEALIST_BACKUPS=(/\S+)\\n", text("README.md"))
    assert f"ReadWritePaths=-{folder}\n" in text("idealist.service") and f"--mode 700 {folder}\n" in text(
        "README.md"
    )


def test_the_service_is_nobody_and_writes_only_where_its_state_is():
    unit = dict(line.split("=", 1) for line in text("idealist.service").splitlines() if "=" in line)
    assert unit["User"] == "idealist" and unit["ProtectSystem"] == "strict" and unit["NoNewPrivileges"] == "yes"
    assert unit["ReadWritePaths"] == "-/var/backups/idealist" and unit["CapabilityBoundingSet"] == ""
    assert f"IDEALIST_DATA=/var/lib/{unit['StateDirectory']}/" in unit["Environment"]


def test_the_table_of_the_folder_is_whole_and_its_commands_name_files_that_exist():
    table = set(re.findall(r"^\| `([^`]+)` \|", text("README.md"), re.MULTILINE))
    assert table == {path.name for path in DEPLOY.iterdir()} - {"README.md", "settings.env", "tls"}
