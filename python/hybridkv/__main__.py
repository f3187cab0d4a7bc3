"""`python -m hybridkv …` is the program that came with the package."""

from hybridkv_program import main

if __name__ == "__main__":
    main()
