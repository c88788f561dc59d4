# pyright: strict
"""The commands of the table, a module each."""

# Commands and their descriptions, in the groups of `--help`.
GROUPS = {
    "play": {
        "table": "open a table in the browser: play, watch, replay",
        "play": "play against any agent, in the terminal",
        "replay": "show a hand from a file of records, and the value of its decisions",
        "puzzles": "make puzzles for the table",
    },
    "measure": {
        "analyze": "compute what each player's decisions cost, over a file of records",
    },
}
