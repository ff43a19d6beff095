"""The rig: is a concurrent map right, and does a function answer as its reference version does?"""
