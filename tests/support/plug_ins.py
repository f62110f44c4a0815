"""Distributions with entry points, installed into a folder."""


def install(folder, name, entry_points, modules):
    """A distribution of these entry points ({group: {name: object}}) and modules ({name: source})."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = [
        f"[{group}]\n" + "".join(f"{entry} = {target}\n" for entry, target in entries.items())
        for group, entries in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source)


def install_broken(folder):
    """One distribution with an engine and a notifier that cannot be loaded, each for another reason."""
    install(
        folder,
        "acme-anubis",
        {
            "anubis.engines": {"acme": "acme_engine:build"},
            "anubis.notifiers": {"pigeon": "acme_notifier:build", "owl": "acme_notifier:gone"},
        },
        {
            "acme_engine": "import a_library_that_is_not_installed\n",
            "acme_notifier": "def build(surroundings):\n    raise SyntaxError('wings clipped')\n",
        },
    )
