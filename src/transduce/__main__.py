"""`python -m transduce` is `transduce`."""

from transduce.cli.app import main

main()
