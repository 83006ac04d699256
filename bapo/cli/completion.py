"""`bapo completion`: a script that completes commands, options, runs, recipes and fields."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script

VARIABLE = "_BAPO_COMPLETE"


class Shell(StrEnum):
    """Supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print a shell's completion script.

    bash: [bold]echo 'eval "$(bapo completion bash)"' >> ~/.bashrc[/bold]

    zsh: [bold]echo 'eval "$(bapo completion zsh)"' >> ~/.zshrc[/bold]

    fish: [bold]bapo completion fish > ~/.config/fish/completions/bapo.fish[/bold]
    """
    print(get_completion_script(prog_name="bapo", complete_var=VARIABLE, shell=shell))
