"""The trainers PPO, MMD, NFSP, MCCFR and SB3, their base class, registry and settings."""
