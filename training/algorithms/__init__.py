"""The trainers: PPO, MMD, NFSP, CFR, Stable-Baselines3, their base class, registry and settings."""
