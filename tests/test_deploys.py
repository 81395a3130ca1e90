from __future__ import annotations

import pytest

from tasks.deploys import deploy_in


@pytest.mark.parametrize(
    ("command", "step"),
    [
        ("git push", "git push"),
        ("git push --force-with-lease origin main", "git push --force-with-lease origin main"),
        ("git -C ../boat push origin v1.2", "git -C ../boat push origin v1.2"),
        ("git add -A && git commit -m 'ship' && git push origin main", "git push origin main"),
        ("cd app; npm publish --access public", "npm publish --access public"),
        ("yarn npm publish", "yarn npm publish"),
        ("CARGO_TOKEN=x cargo publish", "cargo publish"),
        ("python -m twine upload dist/*", "python -m twine upload dist/*"),
        ("uv build && uv publish", "uv publish"),
        ("docker build -t x . && docker push registry/x:1", "docker push registry/x:1"),
        (
            "docker buildx build --platform linux/amd64 -t x --push .",
            "docker buildx build --platform linux/amd64 -t x --push .",
        ),
        ("kubectl -n prod apply -f k8s/", "kubectl -n prod apply -f k8s/"),
        ("kubectl rollout restart deploy/web", "kubectl rollout restart deploy/web"),
        ("sudo terraform apply -auto-approve", "terraform apply -auto-approve"),
        ("helm upgrade --install web ./chart", "helm upgrade --install web ./chart"),
        ("fly deploy --remote-only", "fly deploy --remote-only"),
        ("npx vercel --prod", "vercel --prod"),
        ("netlify deploy --prod", "netlify deploy --prod"),
        ("npx wrangler deploy", "wrangler deploy"),
        ("gh release create v1 --notes 'x'", "gh release create v1 --notes 'x'"),
        ("gcloud run deploy web --image x", "gcloud run deploy web --image x"),
        ("aws s3 sync dist s3://site", "aws s3 sync dist s3://site"),
        ("npm run deploy", "npm run deploy"),
        ("npm run deploy:prod", "npm run deploy:prod"),
        ("make release", "make release"),
        ("./scripts/deploy.sh staging", "./scripts/deploy.sh staging"),
        ("bash -lc 'npm test && git push'", "git push"),
        ("if true; then\n  git push\nfi", "git push"),
        ("git push 2>&1 | tail -3", "git push 2>"),
    ],
)
def test_a_deploy_is_known_by_what_was_run(command: str, step: str) -> None:
    assert deploy_in(command).startswith(step)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "git status",
        "git stash push -m wip",
        "git push --dry-run",
        "git push origin --delete old",
        "git pushy",
        "echo 'git push'",
        'git commit -m "then git push; npm publish"',
        "grep -rn 'kubectl apply' docs",
        "npm publish --dry-run",
        "kubectl get pods",
        "kubectl apply --dry-run=client -f x",
        "terraform plan",
        "helm template web ./chart",
        "helm lint",
        "cargo publish --help",
        "cat > notes.md <<'EOF'\ngit push\nEOF",
        "docker build -t x .",
        "npm run build",
        "vercel dev",
        "make test",
        "ls deploy/",
        "cat deploy.sh",
        "vim scripts/deploy.sh",
        "gh release list",
        "docker compose up -d db",
    ],
)
def test_looking_and_trying_is_no_deploy(command: str) -> None:
    assert deploy_in(command) == ""


def test_what_follows_a_written_file_still_counts() -> None:
    assert deploy_in("cat > x <<EOF\nhello\nEOF\ngit push") == "git push"


def test_an_endless_line_costs_little() -> None:
    assert deploy_in("'" + "a;" * 200_000) == ""
    assert deploy_in("git " + "-a " * 50_000) == ""
