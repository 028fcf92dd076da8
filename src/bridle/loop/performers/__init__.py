"""The functions that execute the loop's effects. They may not import control or adoption."""
