# SPDX-License-Identifier: MIT
from overlock_tools.cli import main

if __name__ == "__main__":
    main()
