# SPDX-License-Identifier: MIT
from overlock_tools.cli.main import main

if __name__ == "__main__":
    main()
