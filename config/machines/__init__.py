"""Django's settings of what machines share besides the database: stores of files, and the cache of tries."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from django.core.exceptions import ImproperlyConfigured

STORES = ("uploads", "pictures")
QUERY_PARAMETERS = {"endpoint": "endpoint_url", "region": "region_name"}
CURE = (
    "Write s3://BUCKET or s3://BUCKET/FOLDER, and where needed ?endpoint=URL&region=NAME behind it. The keys stand"
    " in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
)


def files(url: str, data: Path) -> dict[str, dict]:
    """The storages of uploads and pictures: in the data folder, or in a bucket where there is a `url`."""
    if url:
        return {name: in_bucket("STORAGE_URL", url, name) for name in STORES}
    return {
        "uploads": {"BACKEND": "ratings.importing.folder.Folder", "OPTIONS": {"name": "uploads"}},
        "pictures": in_folder(data / "pictures"),
    }


def backups(place: str, data: Path) -> dict:
    """The storage of backups: the folder or s3:// URL of `place`, or backups in the data folder."""
    return in_bucket("IDEALIST_BACKUPS", place) if "://" in place else in_folder(place or data / "backups")


def in_folder(folder: Path | str) -> dict:
    modes = {"file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
    backend = "django.core.files.storage.FileSystemStorage"
    return {"BACKEND": backend, "OPTIONS": {"location": folder, **modes}}


def in_bucket(setting: str, url: str, folder: str = "") -> dict:
    """The storage of a folder of the bucket at the URL. Raises ImproperlyConfigured, which names the setting.

    url: s3://BUCKET/PATH, with QUERY_PARAMETERS; folder: below the path, "" for the path itself.
    """
    place = urlsplit(url)
    query = parse_qs(place.query)
    # Other parameters than QUERY_PARAMETERS are refused, and an @, before which some would write keys. The message
    # does not repeat the URL, which may contain a password in the wrong place.
    if place.scheme != "s3" or not place.netloc or "@" in place.netloc or query.keys() - QUERY_PARAMETERS.keys():
        raise ImproperlyConfigured(f"{setting} names no bucket. {CURE}")
    parameters = {QUERY_PARAMETERS[name]: value[-1] for name, value in query.items()}
    location = "/".join(filter(None, (place.path.strip("/"), folder)))
    endpoint = parameters.get("endpoint_url", "https://")
    if not endpoint.startswith(("http://", "https://")):
        raise ImproperlyConfigured(f"{setting} has an endpoint without http:// or https://. {CURE}")
    options = {"bucket_name": place.netloc, "location": location, **parameters}
    return {"BACKEND": "config.machines.bucket.Bucket", "OPTIONS": options}


def cache(database: dict, folder: Path) -> dict:
    """The cache of all processes: files beside SQLite, or a table of PostgreSQL."""
    if database["ENGINE"].endswith("sqlite"):
        options = {"MAX_ENTRIES": 1_000}
        return {"BACKEND": "config.machines.caches.Files", "LOCATION": folder, "OPTIONS": options}
    return {"BACKEND": "config.machines.caches.Table", "LOCATION": "cache", "OPTIONS": {"MAX_ENTRIES": 10_000}}
