"""Where the linker puts a program's procedures, what that costs, and orders that cost less."""
