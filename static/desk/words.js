// The words of a script in the language of its page. Django's catalog of them (`ratings.web.language.catalog`) is loaded
// before the modules, and not at all by a page in English.

const catalog = globalThis.django ?? {};

export const gettext = catalog.gettext ?? ((text) => text);
export const ngettext = catalog.ngettext ?? ((one, many, n) => (n === 1 ? one : many));

/** `text` with a value of `values` in place of each %(name)s. */
export const filled = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => values[name]);
