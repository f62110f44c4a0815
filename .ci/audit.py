"""Audits the installed packages with pip-audit; says so when its database cannot be reached.

Exit status: 1 if a package has a known vulnerability, else 0. A package that the database does not know is named.
"""

import json
import subprocess
import sys

command = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner", "off", "--format", "json"]
done = subprocess.run([*command, "--timeout", "15"], capture_output=True, text=True, check=False)
try:
    packages = json.loads(done.stdout)["dependencies"]
except ValueError:
    packages = []
audited = [package for package in packages if "vulns" in package]
if not audited:
    print("not audited: the vulnerability database cannot be reached from here")
    sys.exit(0)
vulnerable = [package for package in audited if package["vulns"]]
for package in vulnerable:
    for weakness in package["vulns"]:
        fixed = ", ".join(weakness["fix_versions"]) or "no version"
        print(f"{package['name']} {package['version']}: {weakness['id']}, fixed in {fixed}", file=sys.stderr)
left = sorted(package["name"] for package in packages if "vulns" not in package)
print(f"{len(audited)} packages audited, {len(vulnerable)} vulnerable; not audited: {', '.join(left) or 'none'}")
sys.exit(1 if vulnerable else 0)
