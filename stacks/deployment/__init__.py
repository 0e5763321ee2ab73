"""What `make deploy` and `make undeploy` know about stacks, settings and the account."""

import sys

# tomllib, which reads samconfig.toml, is part of Python since 3.11.
if sys.version_info < (3, 11):
    sys.exit("make deploy needs Python 3.11 or later. Install it as python3, and run: rm -r .venv/sam && make deploy")
