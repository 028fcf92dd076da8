"""What every tool is made of: its declaration, its result, paths and printed output. Imports no other tool package."""
