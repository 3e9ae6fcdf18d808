"""`proximal keys …`"""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Make API keys for the local platform.", no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Who it is for.", show_default=False)],
    data_dir: Annotated[Path | None, typer.Option(help="The platform's data folder. Default: .proximal")] = None,
) -> None:
    """Make an API key, in the database of the local platform (or of DATABASE_URL), and print it. It is shown only once."""
    from client.local import keys
    from client.local.options import Options

    print(keys.create(Options(data_dir), name))
