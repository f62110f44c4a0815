"""What a descriptor asks for that its project does not permit: the only place that decides about it.

It is asked when a run is submitted, and again when it is placed.
"""

from collections.abc import Iterator

from anubis.contracts.engine import Capabilities, Engine
from anubis.contracts.service.projects import Permission
from anubis.model.access.permits import permits
from anubis.model.access.roles import EVERYTHING, Project
from anubis.model.descriptor import Descriptor, Env, secret_name
from anubis.model.problem import Problem
from anubis.model.server import ServerEnv
from anubis.submission.environment.names import is_secret, is_setting


def not_permitted(descriptor: Descriptor, engine: Engine, permission: Permission) -> Iterator[Problem]:
    """Everything that the project does not permit, one problem each, with the command for an administrator."""
    project = permission.project
    yield from _run_time(descriptor, project)
    if set(EVERYTHING) <= set(project.permits):
        return
    yield from _engine(project, engine.name, engine.capabilities)
    yield from _sections(descriptor, project, engine.capabilities)
    yield from _addresses(descriptor, project)
    if not permits(project.permits, "secrets"):
        yield from _secrets(descriptor, permission)


def _engine(project: Project, name: str, can: Capabilities) -> Iterator[Problem]:
    path = "info.execution_engine"
    if not permits(project.permits, "engine", name):
        yield _refused(project, path, f'engine "{name}"', f"engine:{name}")
    if not can.encloses and not permits(project.permits, "unsandboxed"):
        what = f'engine "{name}", which does not separate benchmarks from their machine,'
        yield _refused(project, path, what, "unsandboxed")


def _sections(descriptor: Descriptor, project: Project, can: Capabilities) -> Iterator[Problem]:
    sections: list[tuple[str, Env | ServerEnv]] = [("env", descriptor.env)]
    if descriptor.server:
        sections.append(("server.env", descriptor.server.env))
    for section, env in sections:
        if env.privileged and not permits(project.permits, "privileged"):
            yield _refused(project, f"{section}.privileged", "privileged mode", "privileged")
        image = env.docker_image
        if image and can.images and not permits(project.permits, "image", image):
            yield _refused(project, f"{section}.docker_image", f"the image {image}", f"image:{image}")


def _addresses(descriptor: Descriptor, project: Project) -> Iterator[Problem]:
    if permits(project.permits, "host-files"):
        return
    models = descriptor.server.models if descriptor.server else ()
    for section, items in (("data.sources", descriptor.data.sources), ("server.models", models)):
        for index, item in enumerate(items):
            if item.src.partition(":")[0].lower() == "file":
                yield _refused(project, f"{section}[{index}].src", "files of the machine", "host-files")


def _secrets(descriptor: Descriptor, permission: Permission) -> Iterator[Problem]:
    project = permission.project
    variables = {"env.vars": descriptor.env.vars}
    if descriptor.server:
        variables["server.env.vars"] = descriptor.server.env.vars
    for section, values in variables.items():
        for variable, value in values.items():
            name = secret_name(value)
            if name and name not in permission.own_secrets:
                yield Problem(
                    path=f"{section}.{variable}",
                    message=f"the project {project.name!r} has no secret {name}, and may not use those of the"
                    " installation",
                    remedy=f"let an administrator of the project set it: anubis secret set {name} --project"
                    f" {project.name}",
                )
    for name in descriptor.env.inherit:
        if is_secret(name) or is_setting(name):
            yield _refused(project, "env.inherit", f"the variable {name} of the installation", "secrets")


def _run_time(descriptor: Descriptor, project: Project) -> Iterator[Problem]:
    most_s, limit_s = project.quota.run_s, descriptor.limits.run_timeout_s
    if most_s is not None and (limit_s is None or limit_s > most_s):
        shown = "has no limit" if limit_s is None else f"may run for {limit_s:g} s"
        yield Problem(
            path="limits.run_timeout_s",
            message=f"the run {shown}, and those of the project {project.name!r} may run for {most_s:g} s",
            remedy=f"set limits.run_timeout_s to at most {most_s:g}, or let an administrator raise it:"
            f" anubis project quota {project.name} --run-time S",
        )


def _refused(project: Project, path: str, what: str, name: str) -> Problem:
    return Problem(
        path=path,
        message=f"the project {project.name!r} does not permit {what}".removesuffix(","),
        remedy=f"change it, or let an administrator permit it: anubis project permit {project.name} {name}",
    )
